"""The command line made from the table of verbs, without loading a verb before it is used."""

from __future__ import annotations

import errno
import importlib
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from crowdsim.cli.shell import OutputLost, complain, guarded, output, print_error, say
from crowdsim.cli.verbs import FUNCTIONS, VERBS
from crowdsim.errors import CrowdsimError, ExitCode
from crowdsim.scenario.tree import suggestion


class VerbGroup(TyperGroup):
    """The group of all verbs; a verb's module is imported when the verb, or its help, is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all verbs."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of one verb, or None."""
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"crowdsim.cli.{cmd_name}")
        app = _plain_app()
        app.command(cmd_name)(guarded(getattr(module, FUNCTIONS.get(cmd_name, cmd_name))))
        return typer.main.get_command(app)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first argument names; an unknown one is answered with the nearest."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            ctx.fail(
                (
                    f'There is no verb "{args[0]}". {suggestion(args[0], VERBS)} Known are '
                    f"{', '.join(VERBS)}."
                ).replace("  ", " ")
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of verbs into the help."""
        with formatter.section("Verbs"):
            formatter.write_dl([*VERBS.items()])


def _plain_app(*, completes: bool = False, **options: Any) -> typer.Typer:
    """Return an app without rich: loading it costs more than most verbs."""
    return typer.Typer(
        add_completion=completes, rich_markup_mode=None, pretty_exceptions_enable=False, **options
    )


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata

        try:
            say(f"crowdsim {metadata.version('crowdsim')}")
        except metadata.PackageNotFoundError:
            say("crowdsim, not installed as a package: the version is in pyproject.toml")
        raise typer.Exit


def usage_error(error: Exception, *, as_json: bool) -> int | None:
    """Print what is wrong with the arguments, if that is what an exception is about, in one line;
    return the exit code, or None if it is something else.

    typer brings its own copy of click in new versions and uses click in older ones: its exceptions are known
    by what they have.
    """
    if type(error).__name__ == "Abort":
        complain("interrupted")
        return int(ExitCode.INTERRUPTED)
    if (
        isinstance(error, OSError)
        and error.filename is None
        and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EPIPE)
    ):
        return _help_lost(error)
    if not hasattr(error, "format_message"):
        return None
    message, where = error.format_message(), getattr(getattr(error, "ctx", None), "command_path", "crowdsim")
    if type(error).__name__ == "NoArgsIsHelpError":
        complain(message)
    else:
        print_error(
            CrowdsimError(
                f"{message.rstrip('.?')}{message[-1:] if message[-1:] in '.?' else '.'} See: {where} --help"
            ),
            as_json=as_json,
        )
    return int(ExitCode.USAGE)


def _help_lost(error: OSError) -> int:
    """Report that the help could not be printed, as verbs do for what they print themselves
    (`crowdsim.cli.shell`).
    """
    try:
        with output():
            raise error
    except BrokenPipeError:
        return int(ExitCode.OK)  # crowdsim --help | head -1
    except OutputLost as lost:
        print_error(lost)
        return int(lost.exit_code)


def build_app() -> Any:
    """Return the whole command line as a callable that takes a list of arguments and leaves by SystemExit."""
    app = _plain_app(completes=True, cls=VerbGroup, no_args_is_help=True, subcommand_metavar="VERB ...")

    @app.callback()
    def crowdsim(
        version: Annotated[
            bool,
            typer.Option(
                "--version", help="Print the version and leave.", is_eager=True, callback=_print_version
            ),
        ] = False,
    ) -> None:
        """Simulate crowds in batches: reproducible runs, every avoidance model by one switch,
        recordings that prove themselves.
        """

    return typer.main.get_command(app)
