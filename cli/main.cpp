// The program `mercer`. stdout is data, stderr is progress and errors.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <exception>
#include <sstream>

#include "autograd/call.h"
#include "cli/demo.h"
#include "cli/eval.h"
#include "cli/exit_codes.h"
#include "cli/files.h"
#include "cli/gallery.h"
#include "cli/info.h"
#include "cli/ops.h"
#include "engine/error.h"
#include "models/data/text.h"

namespace mercer::cli {
namespace {

int fail(const std::exception& error, ExitCode code) {
    std::fprintf(stderr, "mercer: %s\n", printable(error.what()).c_str());
    return code;
}

void finish_stdout() {
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
        throw IoError("mercer", "stdout cannot be written");
}

// As one would type it into a shell, for the report.
std::string command_line(int argc, char** argv) {
    std::string line = "mercer";
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        const bool plain = !word.empty() && std::ranges::all_of(word, [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                   std::string_view("_./:=@%+,-").find(c) != std::string_view::npos;
        });
        line += plain ? " " : " '";
        for (const char c : word) line += c == '\'' ? "'\\''" : std::string(1, c);
        line += plain ? "" : "'";
    }
    return line;
}

// Decimal, also where zeros lead; CLI11 alone would take those for octal and cut what overflows.
CLI::Validator whole_number(uint64_t least, uint64_t most) {
    return {[=](std::string& text) -> std::string {
                uint64_t value = 0;
                const char* end = text.data() + text.size();
                const auto [stop, error] = std::from_chars(text.data(), end, value);
                if (error != std::errc{} || stop != end || value < least || value > most)
                    return "must be a whole number from " + std::to_string(least) + " to " +
                           std::to_string(most);
                text = std::to_string(value);
                return {};
            },
            ""};
}

std::string some_name(const std::string& text) {
    return text.empty() ? "must be the name of a file, which is not empty" : "";
}

// The first word that is no option must be a command; else there would be no word of it.
void require_command(const CLI::App& app, int argc, char** argv) {
    std::vector<std::string_view> names;
    std::string known;
    for (const CLI::App* command : app.get_subcommands(nullptr)) {
        names.push_back(command->get_name());
        known += (known.empty() ? "" : ", ") + command->get_name();
    }
    const auto is_option = [](const char* text) { return *text == '-'; };
    const auto is_known = [&](std::string_view text) {
        return std::ranges::find(names, text) != names.end();
    };
    const auto asks = [](std::string_view text) {
        return text == "-h" || text == "--help" || text == "--version";
    };
    char **const begin = argv + (argc > 0), **const end = argv + argc,
                 **const word = std::find_if_not(begin, end, is_option);
    const std::string_view first = word != end ? *word : "-";
    // Behind an option it may be its value: that is the option's fault if a command comes.
    const bool is_value = word != begin && std::any_of(word, end, is_known);
    if (argc > 1 && (first == "-" || is_known(first) || is_value || std::any_of(begin, word, asks)))
        return;
    const std::string wrong =
        argc > 1 ? "'" + printable(first) + "' is no command" + suggestion(first, names)
                 : "a command is needed";
    throw CLI::ValidationError(wrong + " (there are " + known + ")");
}

using NamedFile = std::pair<const char*, const std::filesystem::path&>;

// No file of theirs is given twice: one would be written over the other.
void require_distinct(std::initializer_list<NamedFile> files) {
    for (const NamedFile& a : files)
        for (const NamedFile& b : files)
            if (&a < &b && same_file(a.second, b.second))
                throw CLI::ValidationError(std::string(a.first) + " and " + b.first +
                                           " are the same file, " + printable(b.second.string()) +
                                           "; give two");
}

int parse_and_run(int argc, char** argv) {
    CLI::App app("Attention as kernel smoothing.", "mercer");
    app.set_version_flag("--version", "mercer " MERCER_VERSION);
    app.require_subcommand(1);
    const std::string footer =
        "Environment: MERCER_THREADS=n, MERCER_ISA=scalar|avx2|avx512|neon, "
        "MERCER_GEMM=mercer|openblas,\nMERCER_CHECK_FINITE=nan|inf.\n"
        "Exit status: 0 ok, 1 failure, 2 usage, 3 bad input, 4 numerical failure, 5 input or "
        "output failed.";
    app.footer(footer);
    app.failure_message([](const CLI::App*, const CLI::Error& error) {
        return printable(error.what()) + "\nRun with --help for more information.\n";
    });

    DemoOptions options;
    options.command = command_line(argc, argv);
    CLI::App* demo = app.add_subcommand(
        "demo", "Train two Transformers on real series and write an HTML report");
    demo->add_option("--out", options.out, "The report")
        ->capture_default_str()
        ->type_name("FILE.html")
        ->check(some_name);
    demo->add_option("--seed", options.seed, "Draws the split and the initial weights")
        ->capture_default_str()
        ->transform(whole_number(0, UINT64_MAX));
    demo->add_option("--epochs", options.epochs, "Epochs for each training")
        ->capture_default_str()
        ->transform(whole_number(1, 1000000));
    CLI::Option* series = demo->add_option("--series", options.series, "co2, airline or both")
                              ->capture_default_str()
                              ->check(CLI::IsMember({"co2", "airline", "both"}));
    demo->add_option("--data", options.data,
                     "A series of your own: CSV with columns month (1959-01) and value")
        ->type_name("FILE.csv")
        ->check(some_name)
        ->excludes(series);
    demo->add_option("--trace", options.trace,
                     "Where each operation's time goes, for ui.perfetto.dev; with few epochs")
        ->type_name("FILE.json")
        ->check(some_name);
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
        ->type_name("FILE.html")
        ->check(some_name);
    smoothers
        ->add_option("--inputs", gallery.inputs,
                     "The tensors, for `mercer eval` with the attributes beneath a picture")
        ->type_name("FILE.safetensors")
        ->check(some_name);
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
        "all, with /0, /1, ... behind. `mercer ops` says what there is.\n"
        "A faulty entry of a list is reported and the others still run, exit 1; where none "
        "succeeds, OUT stays as\n"
        "it was. IN and OUT may be the same file, which then holds the results only.\n" +
        footer);
    eval->add_option("spec", eval_options.spec, "What to compute")
        ->required()
        ->type_name("SPEC.json")
        ->check(some_name);
    eval->add_option("--in", eval_options.in, "The tensors it names")
        ->required()
        ->type_name("IN.safetensors")
        ->check(some_name);
    eval->add_option("--out", eval_options.out, "Where results go")
        ->required()
        ->type_name("OUT.safetensors")
        ->check(some_name);

    try {
        require_command(app, argc, argv);
        app.parse(argc, argv);
        require_distinct(
            {{"--data", options.data}, {"--trace", options.trace}, {"--out", options.out}});
        require_distinct({{"--inputs", gallery.inputs}, {"--out", gallery.out}});
        require_distinct({{"SPEC.json", eval_options.spec}, {"--out", eval_options.out}});
    } catch (const CLI::ParseError& error) {
        std::ostringstream out, err;
        const int code = app.exit(error, out, err);
        std::fputs(out.str().c_str(), stdout);
        std::fputs(err.str().c_str(), stderr);
        finish_stdout();
        return code == 0 ? ok : usage;
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
    finish_stdout();
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
    } catch (const DeviceError& error) {
        return cli::fail(error, cli::bad_input);
    } catch (const NumericalError& error) {
        return cli::fail(error, cli::numerical_failure);
    } catch (const IoError& error) {
        return cli::fail(error, cli::io_failure);
    } catch (const std::exception& error) {
        return cli::fail(error, cli::failure);
    }
}
