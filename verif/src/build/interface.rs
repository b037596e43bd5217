//! The ports of the model that Verilator made, and the manifest of a library.

use super::*;

/// A port as Verilator names it in the C++ class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ModelPort {
    pub(super) member: String,
    pub(super) spec: PortSpec,
}

pub(super) fn specs_of(ports: &[ModelPort]) -> Vec<PortSpec> {
    ports.iter().map(|port| port.spec.clone()).collect()
}

/// Reads the ports from the header of the model, lines such as `VL_IN8(&clk,0,0);` and `VL_OUTW(&w,299,0,10);`.
pub(super) fn model_ports(header: &Path) -> Result<Vec<ModelPort>, BuildError> {
    let text = read(header)?;
    let mut ports = Vec::new();
    for line in text.lines().map(str::trim) {
        let Some((macro_name, rest)) = line.split_once('(') else {
            continue;
        };
        let (dir, kind) = match (macro_name.strip_prefix("VL_INOUT"), macro_name.strip_prefix("VL_IN"), macro_name.strip_prefix("VL_OUT")) {
            (Some(kind), _, _) => (None, kind),
            (_, Some(kind), _) => (Some(Dir::Input), kind),
            (_, _, Some(kind)) => (Some(Dir::Output), kind),
            _ => continue,
        };
        if !matches!(kind, "" | "8" | "16" | "64" | "W") {
            continue;
        }
        let fields: Vec<&str> = rest.trim_end_matches(");").split(',').map(str::trim).collect();
        let parsed = match (dir, &fields[..]) {
            (Some(dir), [name, msb, lsb, ..]) => {
                let member = name.strip_prefix('&').unwrap_or(name);
                let plain = member.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
                match (plain, msb.parse::<i64>(), lsb.parse::<i64>()) {
                    (true, Ok(msb), Ok(lsb)) => Some((dir, member, ((msb - lsb).unsigned_abs() + 1) as u32)),
                    _ => None,
                }
            }
            _ => None,
        };
        let Some((dir, member, width)) = parsed else {
            return Err(BuildError::Ports {
                top: header.display().to_string(),
                differences: vec![format!("port declaration `{line}` is not supported (inout, or an array)")],
            });
        };
        let spec = PortSpec { name: decode_name(member), width, dir, elem: width };
        ports.push(ModelPort { member: member.to_owned(), spec });
    }
    Ok(ports)
}

/// The Verilog name of a C++ member: Verilator writes `__0XX` for a letter that C++ does not have, and for the second of two
/// underscores, and puts `__SYM__` before a C++ keyword.
pub(super) fn decode_name(member: &str) -> String {
    let member = member.strip_prefix("__SYM__").unwrap_or(member);
    let mut name = String::with_capacity(member.len());
    let mut rest = member;
    while let Some(letter) = rest.chars().next() {
        let code = rest.strip_prefix("__0").and_then(|tail| tail.get(..2)).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        if let Some(code) = code {
            name.push(char::from(code));
            rest = &rest[5..];
        } else {
            name.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
    }
    name
}

/// The ports of the model in the order of the design's port list, which must name all of them.
pub(super) fn check_ports(design: &Design, model: &[ModelPort]) -> Result<Vec<ModelPort>, BuildError> {
    let Some(listed) = &design.ports else {
        return Ok(model.to_vec());
    };
    let mut differences = Vec::new();
    let mut ports = Vec::new();
    for spec in listed {
        match model.iter().find(|port| port.spec.name == spec.name) {
            None => differences.push(format!("{} `{}` [{}] is missing", spec.dir, spec.name, spec.width)),
            Some(port) if port.spec.dir != spec.dir || port.spec.width != spec.width => differences.push(format!(
                "`{}` is an {} of {} bits, expected an {} of {} bits",
                spec.name, port.spec.dir, port.spec.width, spec.dir, spec.width
            )),
            Some(port) => ports.push(ModelPort { member: port.member.clone(), spec: spec.clone() }),
        }
    }
    for port in model {
        if !listed.iter().any(|spec| spec.name == port.spec.name) {
            differences.push(format!("{} `{}` [{}] is not in the port list", port.spec.dir, port.spec.name, port.spec.width));
        }
    }
    if differences.is_empty() { Ok(ports) } else { Err(BuildError::Ports { top: design.top.clone(), differences }) }
}

pub(super) fn port_table(ports: &[ModelPort]) -> String {
    let line = |port: &ModelPort| {
        let output = u8::from(port.spec.dir == Dir::Output);
        format!("L1F_PORT(\"{}\", {}, {}, {output})\n", port.spec.name.escape_default(), port.member, port.spec.width)
    };
    ports.iter().map(line).collect()
}

pub(super) fn port_line(spec: &PortSpec) -> String {
    format!("port {} {} {} {}", spec.dir, spec.width, spec.elem, spec.name)
}

/// What a library folder says about itself. The hash of the library tells a damaged one.
pub(super) struct Manifest {
    pub(super) hash: String,
    pub(super) top: String,
    pub(super) ports: Vec<PortSpec>,
}

impl Manifest {
    pub(super) fn write(&self, folder: &Path, versions: &Versions) -> Result<(), IoError> {
        let path = folder.join(MANIFEST);
        let mut file = File::create(&path).at(&path)?;
        let Self { hash, top, ports } = self;
        let Versions { verilator, compiler } = versions;
        let ports: String = ports.iter().map(|spec| port_line(spec) + "\n").collect();
        write!(file, "sha256 {hash}\ntop {top}\nverilator {verilator}\ncompiler {compiler}\n{ports}").at(&path)
    }

    /// The manifest of a folder that holds an undamaged library.
    pub(super) fn read(folder: &Path) -> Option<Self> {
        let text = fs::read_to_string(folder.join(MANIFEST)).ok()?;
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let hash = field("sha256")?.to_owned();
        let top = field("top")?.to_owned();
        let mut ports = Vec::new();
        for line in text.lines() {
            let Some(line) = line.strip_prefix("port ") else {
                continue;
            };
            let fields: Vec<&str> = line.splitn(4, ' ').collect();
            let [dir, width, elem, name] = fields[..] else {
                return None;
            };
            let dir = if dir == "input" { Dir::Input } else { Dir::Output };
            ports.push(PortSpec { name: name.to_owned(), width: width.parse().ok()?, dir, elem: elem.parse().ok()? });
        }
        (hash_file(&folder.join(LIBRARY)).ok()? == hash).then_some(Self { hash, top, ports })
    }
}
