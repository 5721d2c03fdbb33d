// A public function is one indirect jump to the core's function of the same signature: no argument
// is touched, variadic functions work, and an interposer of the public name is honoured by whoever
// calls that name.
#if defined(__x86_64__)
#define HCCLRUN_JUMP_STUB(name)                     \
  .text;                                            \
  .p2align 4;                                       \
  .globl name;                                      \
  .type name, @function;                            \
  name:;                                            \
  endbr64;                                          \
  jmp *hcclrun_core_##name@GOTPCREL(%rip);          \
  .size name, .-name
#elif defined(__aarch64__)
#define HCCLRUN_JUMP_STUB(name)                     \
  .text;                                            \
  .p2align 4;                                       \
  .globl name;                                      \
  .type name, %function;                            \
  name:;                                            \
  hint 34;                                          \
  adrp x16, :got:hcclrun_core_##name;               \
  ldr x16, [x16, :got_lo12:hcclrun_core_##name];    \
  br x16;                                           \
  .size name, .-name
#else
#error "hcclrun runs on x86-64 and aarch64"
#endif
#if defined(__x86_64__)
#define HCCLRUN_STUB_END .section .note.GNU-stack, "", @progbits
#else
#define HCCLRUN_STUB_END .section .note.GNU-stack, "", %progbits
#endif
