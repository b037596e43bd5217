//! The build cache: one build per content, never half of one, whatever is killed, broken or changed.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{design, private_cache};
use l1forge_verif::build::{BuildError, Builder, Design, Stage};
use l1forge_verif::cache::Cache;
use l1forge_verif::dut::{Init, Library};
use l1forge_verif::tools::{Tool, Toolbox};

/// A stand-in for a tool that logs its real calls to `FOLDER/calls`, and with a file `FOLDER/hold` waits for it to go away.
fn wrapper(folder: &Path, tool: Tool, extra: &str) -> PathBuf {
    let real = Toolbox::from_env().find(tool).unwrap();
    let path = folder.join(format!("fake-{}", tool.info().command));
    let script = format!(
        "#!/bin/sh\n{extra}\ncase \"$1\" in --version|--getenv) exec '{real}' \"$@\";; esac\n\
         echo \"$$ $*\" >> '{folder}/calls'\n\
         while [ -e '{folder}/hold' ]; do sleep 0.02; done\n\
         exec '{real}' \"$@\"\n",
        real = real.display(),
        folder = folder.display()
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn calls(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("calls")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Waits for a condition that is bound to come.
fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !condition() {
        assert!(Instant::now() < deadline, "{what} does not come");
        thread::sleep(Duration::from_millis(10));
    }
}

fn entries(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten();
    names.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

/// The temporary folders of models; those of the run-time library do not matter here.
fn temporary(cache: &Cache) -> Vec<String> {
    let mut names = entries(&cache.root().join("tmp"));
    names.retain(|name| name.starts_with("models-"));
    names
}

/// Compiles the run-time library into a cache, so that a stand-in for the compiler has only the model to compile.
fn warm(cache: &Cache) {
    let builder = Builder::new(cache.clone(), Toolbox::from_env());
    builder.build(&design("counter.v").define("WARM", "")).unwrap();
}

fn assert_counts(library: &Library) {
    let mut dut = library.instantiate(Init::Random(1)).unwrap();
    let (rst, en, step) = (dut.input("rst").unwrap(), dut.input("en").unwrap(), dut.input("step").unwrap());
    dut.reset(rst, true, 1).unwrap();
    dut.poke(en, 1);
    dut.poke(step, 5);
    dut.step().unwrap();
    dut.step().unwrap();
    assert_eq!(dut.peek(dut.output("q").unwrap()), 10);
}

/// Starts this test program once more, to run `child` below.
fn spawn_child(root: &Path, verilator: &Path, compiler: &Path, result: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored", "--nocapture"])
        .env("L1FORGE_TEST_RESULT", result)
        .env("L1FORGE_CACHE", root)
        .env("VERILATOR", verilator)
        .env("CXX", compiler)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Builds the counter with tools and cache of the environment and writes down what happened; the other tests start it as a process.
#[test]
#[ignore = "is a process of other tests"]
fn child() {
    let Some(result) = std::env::var_os("L1FORGE_TEST_RESULT").map(PathBuf::from) else {
        return;
    };
    let waiting = result.with_extension("waiting");
    let builder = Builder::from_env().on_progress(move |stage| {
        if stage == Stage::Waiting {
            fs::write(&waiting, "").unwrap();
        }
    });
    let library = builder.build(&design("counter.v")).unwrap();
    assert_counts(&library);
    let text = format!("{} {}", library.path().display(), library.build_seconds().is_some());
    fs::write(result, text).unwrap();
}

#[test]
fn two_processes_at_once_build_once() {
    let (folder, cache) = private_cache();
    let folder = folder.path();
    let verilator = wrapper(folder, Tool::Verilator, "");
    let compiler = Toolbox::from_env().find(Tool::Cxx).unwrap();
    fs::write(folder.join("hold"), "").unwrap();
    let mut first = spawn_child(cache.root(), &verilator, &compiler, &folder.join("first"));
    wait_for("the first build", || calls(folder).len() == 1);
    let mut second = spawn_child(cache.root(), &verilator, &compiler, &folder.join("second"));
    wait_for("the second process", || folder.join("second.waiting").exists());
    fs::remove_file(folder.join("hold")).unwrap();
    assert!(first.wait().unwrap().success() && second.wait().unwrap().success());
    assert_eq!(calls(folder).len(), 1, "Verilator ran once");
    let first = fs::read_to_string(folder.join("first")).unwrap();
    let second = fs::read_to_string(folder.join("second")).unwrap();
    let (first, second) = (first.rsplit_once(' ').unwrap(), second.rsplit_once(' ').unwrap());
    assert_eq!(first.0, second.0);
    assert_eq!((first.1, second.1), ("true", "false"));
    assert_eq!(temporary(&cache), [""; 0]);
}

#[test]
fn threads_at_once_build_once() {
    let (folder, cache) = private_cache();
    let folder = folder.path();
    let tools = Toolbox::from_env().with(Tool::Verilator, wrapper(folder, Tool::Verilator, ""));
    let fresh: usize = thread::scope(|scope| {
        let builds: Vec<_> = (0..3)
            .map(|_| {
                let builder = Builder::new(cache.clone(), tools.clone());
                scope.spawn(move || {
                    let library = builder.build(&design("counter.v")).unwrap();
                    assert_counts(&library);
                    usize::from(library.build_seconds().is_some())
                })
            })
            .collect();
        builds.into_iter().map(|build| build.join().unwrap()).sum()
    });
    assert_eq!((fresh, calls(folder).len()), (1, 1));
}

/// kill -9 while `held` is running: the next build cleans up and works.
fn killed_build(held: Tool) {
    let (folder, cache) = private_cache();
    let folder = folder.path();
    let real = Toolbox::from_env();
    warm(&cache);
    let models = entries(&cache.root().join("models"));
    let stand_in = |tool| {
        if tool == held {
            let only = match tool {
                Tool::Cxx => format!("case \"$*\" in *Vdut__ALL.cpp*) ;; *) exec '{}' \"$@\";; esac", real.find(tool).unwrap().display()),
                _ => String::new(),
            };
            wrapper(folder, tool, &only)
        } else {
            real.find(tool).unwrap()
        }
    };
    let (verilator, compiler) = (stand_in(Tool::Verilator), stand_in(Tool::Cxx));
    fs::write(folder.join("hold"), "").unwrap();
    let mut process = spawn_child(cache.root(), &verilator, &compiler, &folder.join("result"));
    wait_for("the build", || !calls(folder).is_empty());
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(!folder.join("result").exists());
    assert_eq!(entries(&cache.root().join("models")), models, "no half of a library");
    let left = temporary(&cache);
    assert_eq!(left.len(), 1, "{left:?}");

    // The orphan still hangs while the next build runs.
    let orphan = calls(folder)[0].split(' ').next().unwrap().to_owned();
    let tools = real.with(Tool::Verilator, &verilator).with(Tool::Cxx, &compiler);
    let thread = {
        let cache = cache.clone();
        thread::spawn(move || Builder::new(cache, tools).build(&design("counter.v")))
    };
    wait_for("the next build", || calls(folder).len() == 2);
    assert!(!temporary(&cache).contains(&left[0]), "the old folder is gone");
    assert!(Path::new("/proc").join(&orphan).exists(), "the orphan is still there");
    fs::remove_file(folder.join("hold")).unwrap();
    let library = thread.join().unwrap().unwrap();
    assert!(library.build_seconds().is_some());
    assert_counts(&library);
    wait_for("the end of the orphan", || !is_running(&orphan));
    assert_eq!(temporary(&cache), [""; 0]);
}

fn is_running(process: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status"));
    status.is_ok_and(|status| !status.contains("State:\tZ"))
}

#[test]
fn a_build_killed_in_verilator_leaves_no_harm() {
    killed_build(Tool::Verilator);
}

#[test]
fn a_build_killed_in_the_compiler_leaves_no_harm() {
    killed_build(Tool::Cxx);
}

#[test]
fn leftovers_of_other_designs_are_removed_too() {
    let (folder, cache) = private_cache();
    let builder = Builder::new(cache.clone(), Toolbox::from_env());
    let library = builder.build(&design("counter.v")).unwrap();
    let tmp = cache.root().join("tmp");
    // One whose lock is free, and one that somebody is building.
    let (free, held) = (format!("models-{}", library.key()), "models-held");
    fs::create_dir(tmp.join(format!("{free}.x"))).unwrap();
    fs::create_dir(tmp.join(format!("{held}.x"))).unwrap();
    let lock = fs::File::create(cache.root().join("locks").join(format!("{held}.lock"))).unwrap();
    lock.lock().unwrap();
    builder.build(&design("counter.v").define("OTHER", "")).unwrap();
    assert_eq!(temporary(&cache), [format!("{held}.x")]);
    drop(folder);
}

#[test]
fn a_syntax_error_leaves_a_log_and_nothing_else() {
    let (_folder, cache) = private_cache();
    let builder = Builder::new(cache.clone(), Toolbox::from_env());
    let good = common::fixture("counter.v");
    let bad = good.replace("assign next =", "assign next");
    let make = |text: &str| Design::new("counter").source("rtl/counter.v", text).clock("clk");
    for _ in 0..2 {
        let error = builder.build(&make(&bad)).unwrap_err();
        let BuildError::Verilator { top, log, excerpt } = &error else { panic!("{error}") };
        assert_eq!(top, "counter");
        assert!(excerpt.starts_with("%Error: rtl/counter.v:10:"), "{excerpt}");
        assert!(error.to_string().contains(&log.display().to_string()));
        assert!(log.starts_with(cache.root()));
        assert!(fs::read_to_string(log).unwrap().contains(excerpt.lines().next().unwrap()));
        assert_eq!(entries(&cache.root().join("models")), [""; 0]);
        assert_eq!(temporary(&cache), [""; 0]);
    }
    assert_counts(&builder.build(&make(&good)).unwrap());
}

#[test]
fn a_tool_that_fails_once_is_tried_again() {
    let (folder, cache) = private_cache();
    let folder = folder.path();
    warm(&cache);
    for (tool, times) in [(Tool::Verilator, 0), (Tool::Cxx, 1)] {
        let fail =
            format!("if [ -e '{}/fail' ] && [ \"$1\" != --version ]; then echo 'error: out of luck' >&2; exit 1; fi", folder.display());
        let tools = Toolbox::from_env().with(tool, wrapper(folder, tool, &fail));
        let builder = Builder::new(cache.clone(), tools);
        let design = design("counter.v").define("TIMES", times.to_string());
        fs::write(folder.join("fail"), "").unwrap();
        let error = builder.build(&design).unwrap_err();
        let (BuildError::Verilator { log, excerpt, .. } | BuildError::Compiler { log, excerpt, .. }) = &error else { panic!("{error}") };
        assert!(excerpt.contains("out of luck"), "{error}");
        assert!(log.exists());
        fs::remove_file(folder.join("fail")).unwrap();
        assert_counts(&builder.build(&design).unwrap());
    }
}

#[test]
fn everything_that_determines_a_library_is_in_its_key() {
    let (folder, cache) = private_cache();
    let builder = Builder::new(cache.clone(), Toolbox::from_env());
    let first = builder.build(&design("counter.v")).unwrap();
    assert!(first.build_seconds().is_some());
    assert!(first.path().display().to_string().contains(first.key()));
    let again = builder.build(&design("counter.v")).unwrap();
    assert_eq!((again.path(), again.build_seconds()), (first.path(), None));

    // A comment in the source.
    let text = common::fixture("counter.v");
    let changed = Design::new("counter").source("counter.v", format!("{text}// end\n")).clock("clk");
    // A macro, waves, coverage, the name of the file, the port list.
    let others = [
        changed,
        design("counter.v").define("X", "1"),
        design("counter.v").define("X", "2"),
        design("counter.v").coverage(true),
        Design::new("counter").source("other.v", &text).clock("clk"),
        design("counter.v").ports(first.interface().specs().to_vec()),
    ];
    let mut keys = vec![first.key().to_owned()];
    keys.extend(others.iter().map(|other| builder.key(other).unwrap()));
    // Another version of Verilator, and of the compiler.
    for (tool, line) in [(Tool::Verilator, "Verilator 5.999 made up"), (Tool::Cxx, "g++ 99.9 made up")] {
        let fake = wrapper(folder.path(), tool, &format!("if [ \"$1\" = --version ]; then echo '{line}'; exit; fi"));
        let builder = Builder::new(cache.clone(), Toolbox::from_env().with(tool, fake));
        keys.push(builder.key(&design("counter.v")).unwrap());
        if tool == Tool::Verilator {
            // The key is the one that a build uses, also of the run-time library.
            let runtime = entries(&cache.root().join("runtime")).len();
            let library = builder.build(&design("counter.v")).unwrap();
            assert!(library.build_seconds().is_some());
            assert_eq!(Some(library.key()), keys.last().map(String::as_str));
            let manifest = library.path().with_file_name("manifest.txt");
            assert!(fs::read_to_string(manifest).unwrap().contains(line));
            assert_eq!(entries(&cache.root().join("runtime")).len(), 2 * runtime);
            assert_counts(&library);
        }
    }
    let count = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), count);
    // And the first one is still there.
    let again = builder.build(&design("counter.v")).unwrap();
    assert_eq!((again.key(), again.build_seconds()), (first.key(), None));
}

#[test]
fn a_damaged_library_is_built_again() {
    let (_folder, cache) = private_cache();
    let builder = Builder::new(cache, Toolbox::from_env());
    let path = builder.build(&design("counter.v")).unwrap().path().to_owned();
    let whole = fs::read(&path).unwrap();
    let damages: [&dyn Fn(); 5] = [
        &|| fs::remove_file(&path).unwrap(),
        &|| {
            // Removed first: the old file may still be mapped.
            fs::remove_file(&path).unwrap();
            let mut changed = whole.clone();
            changed[whole.len() / 2] ^= 1;
            fs::write(&path, changed).unwrap();
        },
        &|| {
            fs::remove_file(&path).unwrap();
            fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        },
        &|| fs::remove_file(path.with_file_name("manifest.txt")).unwrap(),
        &|| {
            let folder = path.parent().unwrap();
            fs::remove_dir_all(folder).unwrap();
            fs::write(folder, "a file where the folder was").unwrap();
        },
    ];
    for damage in damages {
        damage();
        let library = builder.build(&design("counter.v")).unwrap();
        assert!(library.build_seconds().is_some());
        assert_eq!(library.path(), path);
        assert_counts(&library);
        assert_eq!(builder.build(&design("counter.v")).unwrap().build_seconds(), None);
    }
}

#[test]
fn a_damaged_runtime_object_is_built_again() {
    let (_folder, cache) = private_cache();
    let builder = Builder::new(cache.clone(), Toolbox::from_env());
    builder.build(&design("counter.v")).unwrap();
    for entry in entries(&cache.root().join("runtime")) {
        for file in entries(&cache.root().join("runtime").join(&entry)) {
            let path = cache.root().join("runtime").join(&entry).join(file);
            fs::write(path, "").unwrap();
        }
    }
    assert_counts(&builder.build(&design("counter.v").define("OTHER", "")).unwrap());
}

#[test]
fn element_widths_are_not_part_of_the_key() {
    let (_folder, cache) = private_cache();
    let builder = Builder::new(cache, Toolbox::from_env());
    let mut ports = builder.build(&design("counter.v")).unwrap().interface().specs().to_vec();
    let first = builder.build(&design("counter.v").ports(ports.clone())).unwrap();
    for spec in &mut ports {
        spec.elem = 1;
    }
    let second = builder.build(&design("counter.v").ports(ports.clone())).unwrap();
    assert_eq!((second.key(), second.build_seconds()), (first.key(), None));
    assert_eq!(second.interface().specs(), ports);
}

#[test]
fn a_missing_tool_is_named() {
    let (folder, cache) = private_cache();
    // A search path with everything but the tool.
    for tool in [Tool::Verilator, Tool::Cxx, Tool::Make] {
        let bin = folder.path().join(tool.info().command);
        fs::create_dir(&bin).unwrap();
        for other in [Tool::Verilator, Tool::Cxx, Tool::Make] {
            if other != tool {
                let path = Toolbox::from_env().find(other).unwrap();
                std::os::unix::fs::symlink(path, bin.join(other.info().command)).unwrap();
            }
        }
        let tools = Toolbox::from_env().with_path(&bin);
        let error = Builder::new(cache.clone(), tools).build(&design("counter.v")).unwrap_err();
        let BuildError::MissingTool(missing) = error else { panic!("{error}") };
        assert_eq!(missing.tool, tool);
        assert!(missing.to_string().contains("sudo apt-get install"), "{missing}");
    }
}

#[test]
fn folders_with_spaces_and_absent_compiler_cache_are_no_trouble() {
    let (folder, _) = private_cache();
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    // Everything of /usr/bin but ccache.
    for entry in fs::read_dir("/usr/bin").unwrap().flatten() {
        if entry.file_name() != "ccache" {
            std::os::unix::fs::symlink(entry.path(), bin.join(entry.file_name())).unwrap();
        }
    }
    let tools = Toolbox::from_env().with_path(&bin);
    assert!(tools.find(Tool::Ccache).is_err());
    let cache = Cache::at(folder.path().join("a folder with spaces"));
    let library = Builder::new(cache, tools).build(&design("counter.v")).unwrap();
    assert_counts(&library);
    let log = fs::read_to_string(library.path().with_file_name("build.log")).unwrap();
    assert!(!log.contains("ccache /"), "{log}");
}

#[test]
fn the_compiler_cache_hits_in_another_folder() {
    if Toolbox::from_env().find(Tool::Ccache).is_err() {
        return;
    }
    let (folder, _) = private_cache();
    let folder = folder.path();
    // Counts what reaches the compiler, which is a new program to the compiler cache: the first build cannot hit.
    let compiler = wrapper(folder, Tool::Cxx, "");
    let tools = Toolbox::from_env().with(Tool::Cxx, compiler);
    let compiled = || {
        let calls = calls(folder);
        calls.iter().filter(|call| call.contains(" -c ")).count()
    };
    for (name, hits) in [("one", false), ("another/and/deeper", true)] {
        let cache = Cache::at(folder.join(name));
        warm(&cache);
        let before = compiled();
        let library = Builder::new(cache, tools.clone()).build(&design("counter.v")).unwrap();
        assert!(library.build_seconds().is_some());
        assert_eq!(compiled() == before, hits, "{:#?}", calls(folder));
    }
}

#[test]
fn bad_source_names_are_refused() {
    let (_folder, cache) = private_cache();
    let builder = Builder::new(cache, Toolbox::from_env());
    for name in ["/etc/x.v", "../x.v", "a/../../x.v", "", "-x.v", "./x.v"] {
        let error = builder.build(&Design::new("x").source(name, "")).unwrap_err();
        assert!(matches!(&error, BuildError::Source { name: bad, .. } if bad == name), "{error}");
    }
    let twice = Design::new("x").source("x.v", "").source("x.v", "");
    assert!(matches!(builder.build(&twice), Err(BuildError::Source { .. })));
    assert!(matches!(builder.build(&Design::new("x")), Err(BuildError::Source { .. })));
}
