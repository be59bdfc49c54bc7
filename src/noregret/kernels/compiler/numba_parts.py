"""Compiled functions as parts of others, which halves the time that compiling takes.

Numba makes machine code, and entries from Python and C, for every function that a compiled function calls, and optimizes it at
each level of calls. All but the outermost one's are thrown away when LLVM puts the callee in its caller's place. A part is
compiled up to LLVM's code and no further. The function that is called from Python is optimized as one whole.

Only :mod:`noregret.kernels.compiler.numba_private` imports this module, and only with a Numba that it was tried with.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numba

llvm: Any = import_module("llvmlite.binding")
codegen: Any = import_module("numba.core.codegen")
compiler: Any = import_module("numba.core.compiler")
environment: Any = import_module("numba.core.environment")
machinery: Any = import_module("numba.core.compiler_machinery")
types: Any = import_module("numba.core.types")
typed_passes: Any = import_module("numba.core.typed_passes")


class _Library(codegen.JITCodeLibrary):  # type: ignore[misc]
    """The code of a part: ready for linking, never for running."""

    def _optimize_final_module(self) -> None:
        """Left to the whole that the part is linked into."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def serialize_using_object_code(self) -> tuple[str, bytes]:
        """The name and LLVM's code, for :func:`rebuild`."""
        return self.name, self._get_module_for_linking().as_bitcode()


@machinery.register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(typed_passes.NativeLowering):  # type: ignore[misc]
    """Numba's last pass, without what only a call from outside needs."""

    _name = "noregret_part_lowering"

    def run_pass(self, state: Any) -> bool:
        """Compile one function, and make it known to its callers."""
        state.flags.no_compile = state.flags.no_cpython_wrapper = state.flags.no_cfunc_wrapper = True
        state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)
        super().run_pass(state)
        entry = _entry()
        state.targetctx.insert_user_function(entry, state["cr"].fndesc, [state.library])
        state["cr"] = state["cr"]._replace(cfunc=entry)
        state.reload_init.extend(state.library._reload_init)
        return True


class PartCompiler(compiler.CompilerBase):  # type: ignore[misc]
    """Numba's compiler with another last pass."""

    def define_pipelines(self) -> list[Any]:
        """The passes of compiled code that never enters Python, with ours in the place of Numba's last."""
        passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(_Lowering if made is typed_passes.NativeLowering else made, why) for made, why in passes.passes]
        passes._finalized = False
        passes.finalize()
        return [passes]


def _entry() -> Any:
    """What stands where Numba keeps a function's entry from Python, which a part does not have.

    Numba wants a built-in function there, and finds a part by it. The method of a new empty list is one. No two of them are
    equal, and a call of it raises an error.
    """
    return [].remove


def give_part(whole: Any, finish: Callable[[Any], None]) -> None:
    """Let other compiled functions call a part where they name ``whole``, a function compiled by ``numba.njit``.

    The part is made when the first of them is compiled: a process that finds all its code on disk needs none.

    Args:
        whole: changed in place.
        finish: called once with the part.
    """

    @cache
    def part() -> Any:
        made: Any = numba.jit(pipeline_class=PartCompiler, **whole.targetoptions)(whole.py_func)
        finish(made)
        return made

    def of_any(positional: Any, named: Any) -> Any:
        """One part for all numbers: a constant at one call is no reason to compile the part once more."""
        kinds = tuple(map(types.unliteral, positional)), {name: types.unliteral(kind) for name, kind in named.items()}
        return part().get_call_template(*kinds)

    whole.get_call_template, whole.get_overload = of_any, lambda signature: part().get_overload(signature)
    add = whole.add_overload

    def added(code: Any) -> None:
        add(code)
        for name in (variable.name for variable in code.library._final_module.global_variables):
            referred = environment.lookup_environment(name)
            if referred is not None:  # what a part refers to in Python is at hand where the whole is
                code.codegen.set_env(name, referred)

    whole.add_overload = added


def rebuild(target: Any, code: Any, fndesc: Any, env: Any, signature: Any, *rest: Any) -> Any:
    """A part from what was kept of it; the arguments are those of ``CompileResult._rebuild``."""
    objectmode, lifted, annotation, reload_init, envs = rest
    for function in reload_init:
        function()
    library = _Library(target.codegen(), code[0])
    library._final_module = llvm.parse_bitcode(code[1])
    library._finalize_final_module()
    return compiler.compile_result(
        target_context=target,
        typing_context=target.typing_context,
        library=library,
        environment=env,
        entry_point=_entry(),
        fndesc=fndesc,
        type_annotation=annotation,
        signature=signature,
        objectmode=objectmode,
        lifted=lifted,
        reload_init=reload_init,
        referenced_envs=envs,
    )
