// Python's global interpreter lock, given up for a while. Binding layer.
//
// When the interpreter is shut down it ends every thread that asks for its lock, by unwinding the
// thread's stack; through C++ frames that may not throw, that ends the process instead. So such a
// thread goes to sleep here, for the moment that is left.
//
// Thread-safety: belongs to the thread that made it.
#pragma once

#include <Python.h>
#include <unistd.h>

namespace anyshape {

class WithoutGil {
   public:
    WithoutGil() : thread_(PyEval_SaveThread()) {}
    ~WithoutGil() { take(); }
    WithoutGil(const WithoutGil&) = delete;
    WithoutGil& operator=(const WithoutGil&) = delete;

    // Takes the lock for a moment and lets Python handle the signals that have come. True if that
    // raised an exception, which stays set.
    bool signals_raise() noexcept {
        take();
        const bool raised = PyErr_CheckSignals() != 0;
        thread_ = PyEval_SaveThread();
        return raised;
    }

   private:
    void take() noexcept {
        try {
            PyEval_RestoreThread(thread_);
        } catch (...) {  // a forced unwind: C throws nothing else, and it has no object to refer to
            while (true) pause();
        }
    }

    PyThreadState* thread_;
};

// Python runs signal handlers there, and only there.
inline bool on_main_thread() noexcept { return gettid() == getpid(); }

}  // namespace anyshape
