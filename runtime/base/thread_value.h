#pragma once
// A value of each thread that outlives the thread's static destruction.
//
// On the main thread, thread_local objects are destroyed before the destructors of static
// objects and the exit handlers run, and those may well call the library. This value is a plain
// pointer: a key of pthreads frees it when a thread ends, which the main thread does not do when
// the process exits.

#include <pthread.h>

namespace hcclrun {

template <class T>
class ThreadValue {
 public:
  // The calling thread's T, made at first use. One per type.
  static T& Get() {
    if (!value_) {
      value_ = new T();
      static const Key key;
      if (key.made) pthread_setspecific(key.key, value_);
    }
    return *value_;
  }

 private:
  struct Key {
    Key() : made(pthread_key_create(&key, Delete) == 0) {}
    pthread_key_t key;
    const bool made;  // without it the value is not freed
  };
  static void Delete(void* value) {
    delete static_cast<T*>(value);
    value_ = nullptr;  // a later destructor of the thread may ask again
  }
  static inline thread_local T* value_ = nullptr;
};

}  // namespace hcclrun
