#pragma once
// The code of the last acl call on this thread that did not succeed (semantics F.3).

namespace hcclrun {

void NoteLastError(int code);
int LastError();
int TakeLastError();

}  // namespace hcclrun
