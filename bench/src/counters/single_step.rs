//! Runs a program under ptrace and counts what it does. Counts do not depend on the load of the
//! machine. Programs that it starts itself are not counted.

#![expect(unsafe_code, reason = "ptrace is in libc only")]

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use libc::{c_int, c_long, c_uint, c_void, pid_t};

/// What one run of a program did.
#[derive(Debug, Default)]
pub struct StepTrace {
    /// Executed instructions. Each round of a repeated string instruction counts.
    pub instructions: u64,
    /// System calls.
    pub system_calls: u64,
    /// Addresses of executed `cpuid` instructions. Each traps into the hypervisor of a virtual
    /// machine.
    pub cpuids: Vec<u64>,
    /// Every executed address, in the order of its first execution.
    pub addresses: Vec<u64>,
    /// The exit code.
    pub code: i32,
}

/// The instructions that are counted by kind.
#[derive(Debug, Clone, Copy)]
enum InstructionKind {
    SystemCall,
    Cpuid,
    Other,
}

impl InstructionKind {
    fn from_bytes(bytes: [u8; 8]) -> Self {
        match bytes {
            [0x0f, 0x05, ..] => Self::SystemCall,
            [0x0f, 0xa2, ..] => Self::Cpuid,
            _ => Self::Other,
        }
    }
}

/// A program that stops whenever the tracer says so.
struct TracedProgram {
    pid: pid_t,
}

/// Why a traced program stopped.
enum Stop {
    Trap,
    /// It is about to end, and its statistics can still be read.
    Exiting,
    Signal(c_int),
    Ended(i32),
}

impl TracedProgram {
    /// Starts a program. It stops before its first instruction.
    fn start(mut command: Command) -> anyhow::Result<Self> {
        // SAFETY: the closure makes one system call and allocates nothing.
        unsafe {
            command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            });
        }
        let child = command.spawn().context("cannot start a traced program")?;
        let this = Self { pid: pid_t::try_from(child.id())? };
        ensure!(matches!(this.wait()?, Stop::Trap), "the traced program did not stop at its start");
        let options = libc::PTRACE_O_TRACEEXIT | libc::PTRACE_O_EXITKILL;
        this.request(libc::PTRACE_SETOPTIONS, 0, c_long::from(options))?;
        Ok(this)
    }

    fn request(&self, what: c_uint, address: c_long, value: c_long) -> anyhow::Result<c_long> {
        // SAFETY: the requests used here read no memory of this process.
        let result = unsafe { libc::ptrace(what, self.pid, address, value) };
        match result {
            -1 => Err(io::Error::last_os_error()).context("ptrace"),
            result => Ok(result),
        }
    }

    fn wait(&self) -> anyhow::Result<Stop> {
        let mut status = 0;
        // SAFETY: the process is a child of this one, and the status is written before it is read.
        let ended = unsafe { libc::waitpid(self.pid, &raw mut status, libc::__WALL) };
        ensure!(ended == self.pid, "waitpid: {}", io::Error::last_os_error());
        if libc::WIFEXITED(status) {
            return Ok(Stop::Ended(libc::WEXITSTATUS(status)));
        }
        if libc::WIFSIGNALED(status) {
            bail!("the traced program was ended by signal {}", libc::WTERMSIG(status));
        }
        let is_exit = status >> 16 == libc::PTRACE_EVENT_EXIT;
        Ok(match libc::WSTOPSIG(status) {
            libc::SIGTRAP if is_exit => Stop::Exiting,
            libc::SIGTRAP => Stop::Trap,
            signal => Stop::Signal(signal),
        })
    }

    /// The address of the next instruction.
    #[cfg(target_arch = "x86_64")]
    fn program_counter(&self) -> anyhow::Result<u64> {
        let offset = std::mem::offset_of!(libc::user_regs_struct, rip);
        let counter = self.request(libc::PTRACE_PEEKUSER, c_long::try_from(offset)?, 0)?;
        Ok(counter.cast_unsigned())
    }

    /// Registers and instructions of other processors are not known here.
    #[cfg(not(target_arch = "x86_64"))]
    fn program_counter(&self) -> anyhow::Result<u64> {
        bail!("a program can be executed step by step on x86_64 only")
    }

    /// The page faults of the process so far.
    fn page_faults(&self) -> anyhow::Result<u64> {
        /// The field `minflt` of `/proc/PID/stat`, counted after the name of the program.
        const MINOR_FAULTS_FIELD: usize = 7;

        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid))?;
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        let faults = after_name.split_whitespace().nth(MINOR_FAULTS_FIELD);
        Ok(faults.context("no page faults")?.parse()?)
    }

    /// Eight bytes at an address. Fewer are readable at the end of a mapping.
    fn read_bytes(&self, address: u64) -> [u8; 8] {
        let mut bytes = [0; 8];
        let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: 8 };
        let remote = libc::iovec { iov_base: address as *mut c_void, iov_len: 8 };
        // SAFETY: the kernel writes at most eight bytes into `bytes`, which outlives the call.
        unsafe { libc::process_vm_readv(self.pid, &raw const local, 1, &raw const remote, 1, 0) };
        bytes
    }
}

/// Executes a program step by step.
pub fn trace_steps(command: Command) -> anyhow::Result<StepTrace> {
    let program = TracedProgram::start(command)?;
    let mut trace = StepTrace::default();
    let mut kinds: HashMap<u64, InstructionKind> = HashMap::new();
    let mut signal = 0;
    loop {
        let address = program.program_counter()?;
        let kind = kinds.entry(address).or_insert_with(|| {
            trace.addresses.push(address);
            InstructionKind::from_bytes(program.read_bytes(address))
        });
        trace.instructions += 1;
        match kind {
            InstructionKind::SystemCall => trace.system_calls += 1,
            InstructionKind::Cpuid => trace.cpuids.push(address),
            InstructionKind::Other => {}
        }
        program.request(libc::PTRACE_SINGLESTEP, 0, c_long::from(signal))?;
        signal = match program.wait()? {
            Stop::Trap => 0,
            Stop::Signal(number) => number,
            Stop::Exiting => break,
            Stop::Ended(code) => return Ok(StepTrace { code, ..trace }),
        };
    }
    Ok(StepTrace { code: finish(&program)?, ..trace })
}

/// Runs a program and returns its page faults since it began, without those of its children, and the
/// exit code. Those before depend on the process that starts it.
pub fn count_page_faults(command: Command) -> anyhow::Result<(u64, i32)> {
    let program = TracedProgram::start(command)?;
    let before = program.page_faults()?;
    let mut signal = 0;
    loop {
        program.request(libc::PTRACE_CONT, 0, c_long::from(signal))?;
        signal = match program.wait()? {
            Stop::Trap => 0,
            Stop::Signal(number) => number,
            Stop::Exiting => break,
            Stop::Ended(_) => bail!("the traced program ended without a last stop"),
        };
    }
    let faults = program.page_faults()? - before;
    Ok((faults, finish(&program)?))
}

/// Lets an exiting program end.
fn finish(program: &TracedProgram) -> anyhow::Result<i32> {
    program.request(libc::PTRACE_CONT, 0, 0)?;
    match program.wait()? {
        Stop::Ended(code) => Ok(code),
        _ => bail!("the traced program did not end"),
    }
}
