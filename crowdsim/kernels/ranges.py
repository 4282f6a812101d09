"""How the threads of a team share the ranges of a call, as LLVM's code.

A team has a control block: `WORDS` numbers in memory that all its threads see. The thread that calls a
kernel on a team puts there what is to be done and how many ranges are left (the ticket); each thread, that
one included, takes one after the other until none is left. No thread needs the interpreter lock for that:
taking a range costs the time that a number takes from one core to another, a tenth of a microsecond.

The ticket holds the number of the call above `LEFT_BITS` bits, and the ranges that are left in them. A thread
that read an older ticket finds it changed when it comes to take a range, and takes none.
"""

from __future__ import annotations

import platform
from typing import Any

from llvmlite import ir
from numba.core import cgutils

# Places in the control block; those that several threads write lie in lines of the cache of their own.
TICKET, DONE, RUN, WORK, PARTS, STOP, WORDS = 0, 8, 16, 17, 18, 24, 32
LEFT_BITS = 16
# How often the calling thread looks for the end of the others' ranges before it lets another program run
# between two looks: some 0.2 ms. A thread that holds a range may have no core.
_LOOKS = 5000

_I64 = ir.IntType(64)
_RUN_TYPE = ir.FunctionType(ir.VoidType(), [_I64, _I64])  # (work, range)


def _place(builder: Any, control: Any, word: int) -> Any:
    return builder.gep(control, [_I64(word)])


def _left(builder: Any, ticket: Any) -> Any:
    return builder.and_(ticket, _I64((1 << LEFT_BITS) - 1))


def read(builder: Any, control: Any, word: int, ordering: str = "acquire") -> Any:
    """Return a number in the control block as it is in memory now."""
    return builder.load_atomic(_place(builder, control, word), ordering, 8)


def write(builder: Any, control: Any, word: int, value: Any, ordering: str = "monotonic") -> None:
    """Put a number in the control block."""
    builder.store_atomic(value, _place(builder, control, word), ordering, 8)


def ease(builder: Any) -> None:
    """Let the processor's other thread have its units for a moment, where it has such."""
    if platform.machine() in ("x86_64", "AMD64"):
        kind = ir.FunctionType(ir.VoidType(), [])
        builder.call(builder.module.declare_intrinsic("llvm.x86.sse2.pause", (), kind), [])


def take(builder: Any, control: Any) -> Any:
    """Do one range of the call that is in the control block; return whether there was one."""
    taken = cgutils.alloca_once(builder, cgutils.bool_t)
    builder.store(cgutils.false_bit, taken)
    ticket = read(builder, control, TICKET)
    left = _left(builder, ticket)
    with builder.if_then(builder.icmp_unsigned("!=", left, _I64(0))):
        run, work = (read(builder, control, word, "monotonic") for word in (RUN, WORK))
        pair = builder.cmpxchg(
            _place(builder, control, TICKET), ticket, builder.sub(ticket, _I64(1)), "acq_rel", "acquire"
        )
        # else another thread has taken it, or these numbers are of another call
        with builder.if_then(builder.extract_value(pair, 1)):
            builder.call(builder.inttoptr(run, _RUN_TYPE.as_pointer()), [work, builder.sub(left, _I64(1))])
            builder.atomic_rmw("add", _place(builder, control, DONE), _I64(1), "release")
            builder.store(cgutils.true_bit, taken)
    return builder.load(taken)


def offer(builder: Any, control: Any, run: Any, work: Any, parts: Any) -> None:
    """Put a call of so many ranges in the control block, once all of the last one are done."""
    write(builder, control, RUN, builder.ptrtoint(run, _I64))
    write(builder, control, WORK, builder.ptrtoint(work, _I64))
    write(builder, control, DONE, _I64(0))
    number = builder.add(builder.lshr(read(builder, control, TICKET, "monotonic"), _I64(LEFT_BITS)), _I64(1))
    write(builder, control, TICKET, builder.or_(builder.shl(number, _I64(LEFT_BITS)), parts), "release")


def finish(builder: Any, control: Any, parts: Any) -> None:
    """Do ranges of the call until none is left, and wait for those that others have begun."""
    looks = cgutils.alloca_once(builder, _I64)
    takes, waits, done, looks_on, asks, ends = (
        builder.append_basic_block(name) for name in ("take", "wait", "done", "look", "yield", "end")
    )
    builder.branch(takes)
    builder.position_at_end(takes)
    builder.store(_I64(0), looks)
    builder.cbranch(take(builder, control), takes, waits)
    builder.position_at_end(waits)
    # where another thread took one from under our hands there may be more
    builder.cbranch(
        builder.icmp_unsigned("==", _left(builder, read(builder, control, TICKET)), _I64(0)), done, takes
    )
    builder.position_at_end(done)
    builder.cbranch(builder.icmp_unsigned("==", read(builder, control, DONE), parts), ends, looks_on)
    builder.position_at_end(looks_on)
    ease(builder)
    count = builder.add(builder.load(looks), _I64(1))
    builder.store(count, looks)
    builder.cbranch(builder.icmp_unsigned(">", count, _I64(_LOOKS)), asks, done)
    builder.position_at_end(asks)
    builder.call(_sched_yield(builder.module), [])
    builder.branch(done)
    builder.position_at_end(ends)


def bounds(builder: Any, rows: Any, part: Any, parts: Any) -> tuple[Any, Any]:
    """Return the first row of a range, and the one after its last."""
    return (
        builder.sdiv(builder.mul(rows, part), parts),
        builder.sdiv(builder.mul(rows, builder.add(part, _I64(1))), parts),
    )


def _sched_yield(module: Any) -> Any:
    name = "sched_yield"
    return module.globals.get(name) or ir.Function(module, ir.FunctionType(ir.IntType(32), []), name)
