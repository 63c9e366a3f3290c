import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file outside of all workspaces in which executions leave who ran when. */
export class Witness {
  readonly directory = mkdtempSync(join(tmpdir(), 'headrace-witness-'));
  readonly file = join(this.directory, 'beats');

  constructor() {
    chmodSync(this.directory, 0o777);
  }

  /** A shell loop that leaves its pid and the time every 50 ms. */
  script(seconds: number): string {
    return `umask 000; for i in $(seq ${seconds * 20}); do echo "$$ $(date +%s%N)" >> ${this.file}; sleep 0.05; done`;
  }

  /** First and last sign of life of each process, in milliseconds, by time. */
  spans(): { pid: number; from: number; to: number }[] {
    if (!existsSync(this.file)) return [];
    const spans = new Map<number, { pid: number; from: number; to: number }>();
    for (const line of readFileSync(this.file, 'utf8').split('\n')) {
      const [pid, nanoseconds] = line.split(' ').map(Number);
      if (pid === undefined || nanoseconds === undefined || !nanoseconds) continue;
      const at = nanoseconds / 1e6;
      const span = spans.get(pid) ?? { pid, from: at, to: at };
      spans.set(pid, { pid, from: Math.min(span.from, at), to: Math.max(span.to, at) });
    }
    return [...spans.values()].sort((a, b) => a.from - b.from);
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}
