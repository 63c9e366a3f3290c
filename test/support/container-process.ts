import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** The first process of a container of a double, and those with the marker of its execution. */
export function containerPids(child: ChildProcess | null, marker: string): number[] {
  const marked = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && marker !== '')
    .filter((pid) => environmentOf(pid).includes(`HEADRACE_EXECUTION_MARKER=${marker}`))
    .map(Number);
  return [...(child?.pid !== undefined && child.exitCode === null ? [child.pid] : []), ...marked];
}

export function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    return; // ended meanwhile
  }
}

/** Writes a module that a process loads first: there `name` is the loopback address, as entries in /etc/hosts make it. */
export function writeHostAlias(file: string, name: string): string {
  const alias = `const dns=require('node:dns');const own=dns.lookup;dns.lookup=(name,...rest)=>own(name==='${name}'?'127.0.0.1':name,...rest);`;
  writeFileSync(file, alias);
  return file;
}

function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return ''; // ended between the two looks
  }
}
