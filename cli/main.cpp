// The program `mercer`. stdout is data, stderr is progress and errors.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>

#include "cli/demo.h"
#include "cli/eval.h"
#include "cli/exit_codes.h"
#include "cli/gallery.h"
#include "cli/info.h"
#include "cli/ops.h"
#include "engine/error.h"

namespace mercer::cli {
namespace {

int fail(const std::exception& error, ExitCode code) {
    std::fprintf(stderr, "mercer: %s\n", error.what());
    return code;
}

// As one would type it, for the report.
std::string command_line(int argc, char** argv) {
    std::string line = "mercer";
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const bool plain =
            !word.empty() && word.find_first_of(" \t\n\"'\\$&|;<>()*?#~`") == std::string::npos;
        line += plain ? " " + word : " '" + word + "'";
    }
    return line;
}

int parse_and_run(int argc, char** argv) {
    CLI::App app("Attention as kernel smoothing.", "mercer");
    app.set_version_flag("--version", "mercer " MERCER_VERSION);
    app.require_subcommand(1);
    app.footer(
        "Environment: MERCER_THREADS=n, MERCER_ISA=scalar|avx2|avx512|neon, "
        "MERCER_CHECK_FINITE=nan|inf.\n"
        "Exit status: 0 ok, 1 failure, 2 usage, 3 bad input, 4 numerical failure, 5 input or "
        "output failed.");

    DemoOptions options;
    options.command = command_line(argc, argv);
    CLI::App* demo = app.add_subcommand(
        "demo", "Train two Transformers on real series and write an HTML report");
    demo->add_option("--out", options.out, "The report")
        ->capture_default_str()
        ->type_name("FILE.html");
    demo->add_option("--seed", options.seed, "Draws the split and the initial weights")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    demo->add_option("--epochs", options.epochs, "Epochs for each training")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000000));
    CLI::Option* series = demo->add_option("--series", options.series, "co2, airline or both")
                              ->capture_default_str()
                              ->check(CLI::IsMember({"co2", "airline", "both"}));
    demo->add_option("--data", options.data,
                     "A series of your own: CSV with columns month (1959-01) and value")
        ->type_name("FILE.csv")
        ->excludes(series);
    demo->add_option("--trace", options.trace,
                     "Where each operation's time goes, for ui.perfetto.dev; with few epochs")
        ->type_name("FILE.json");
    demo->add_flag("--quiet", options.quiet, "No progress on stderr");
    demo->require_subcommand(0, 1);
    GalleryOptions gallery;
    gallery.command = options.command;
    CLI::App* smoothers = demo->add_subcommand(
        "smoothers", "A picture of every kernel, filter, position scheme and normaliser instead");
    for (CLI::Option* option : demo->get_options())
        if (option != demo->get_help_ptr()) smoothers->excludes(option);
    smoothers->add_option("--out", gallery.out, "The page")
        ->capture_default_str()
        ->type_name("FILE.html");
    smoothers
        ->add_option("--inputs", gallery.inputs,
                     "The tensors, for `mercer eval` with the attributes beneath a picture")
        ->type_name("FILE.safetensors");
    smoothers->add_flag("--quiet", gallery.quiet, "No progress on stderr");
    const CLI::App* info =
        app.add_subcommand("info", "What this build is and what it found on the machine");

    bool json = false;
    CLI::App* ops =
        app.add_subcommand("ops", "Every operation, with arguments, attributes and formula");
    ops->add_flag("--json", json, "As JSON");
    EvalOptions eval_options;
    CLI::App* eval =
        app.add_subcommand("eval", "Value and gradients of operations, from and to safetensors");
    eval->footer(
        "SPEC.json: {\"op\", \"inputs\": {argument: tensor}, \"attrs\": {}, \"outputs\": {result: "
        "name},\n"
        "\"cotangents\": {result: tensor}, \"gradients\": {argument: name}, \"dtype\": "
        "\"f32|f64\"}, or a list\n"
        "of them, whose results get the prefix 0/, 1/, ... A result that is a list (split) has one "
        "name for\n"
        "all, with /0, /1, ... behind. `mercer ops` says what there is.");
    eval->add_option("spec", eval_options.spec, "What to compute")
        ->required()
        ->type_name("SPEC.json");
    eval->add_option("--in", eval_options.in, "The tensors it names")
        ->required()
        ->type_name("IN.safetensors");
    eval->add_option("--out", eval_options.out, "Where results go")
        ->required()
        ->type_name("OUT.safetensors");

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? ok : usage;
    }
    int status = ok;
    if (info->parsed())
        print_info();
    else if (ops->parsed())
        print_ops(json);
    else if (eval->parsed())
        status = run_eval(eval_options);
    else if (smoothers->parsed())
        run_gallery(gallery);
    else
        run_demo(options);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
        throw IoError("mercer", "stdout cannot be written");
    return status;
}

}  // namespace
}  // namespace mercer::cli

int main(int argc, char** argv) {
    using namespace mercer;
    std::signal(SIGXFSZ, SIG_IGN);  // a write above the limit fails and says so
    try {
        return cli::parse_and_run(argc, argv);
    } catch (const FormatError& error) {
        return cli::fail(error, cli::bad_input);
    } catch (const ValueError& error) {
        return cli::fail(error, cli::bad_input);
    } catch (const ShapeError& error) {
        return cli::fail(error, cli::bad_input);
    } catch (const DTypeError& error) {
        return cli::fail(error, cli::bad_input);
    } catch (const NumericalError& error) {
        return cli::fail(error, cli::numerical_failure);
    } catch (const IoError& error) {
        return cli::fail(error, cli::io_failure);
    } catch (const std::exception& error) {
        return cli::fail(error, cli::failure);
    }
}
