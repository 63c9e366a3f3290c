import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { HostLog } from '#execution/backends';

const shape = z.object({
  task_id: z.string().min(1),
  execution_id: z.string().regex(/^\d{1,19}$/),
  started_at: z.string(),
  backend: z.string(),
  handle: z.record(z.string(), z.union([z.string(), z.number()])),
});

/** What a later process of the daemon needs to find an execution. Contains no token. */
export type JournalEntry = Readonly<z.infer<typeof shape>>;

/** Executions whose end the server has not acknowledged: one file each, on disk before the runner begins. */
export class Journal {
  private readonly directory: string;

  constructor(
    dataDir: string,
    private readonly log: HostLog,
  ) {
    this.directory = join(dataDir, 'journal');
    mkdirSync(this.directory, { recursive: true, mode: 0o700 });
  }

  /** The error code if no entry can be written now, else null. Creates the directory if it is missing. */
  fault(): string | null {
    const probe = join(this.directory, 'probe');
    try {
      mkdirSync(this.directory, { recursive: true, mode: 0o700 });
      writeFileSync(probe, 'An entry is shorter than this text.\n'.repeat(32), { mode: 0o600 });
      rmSync(probe, { force: true });
      return null;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code ?? 'unknown';
    }
  }

  /** Returns when the entry is on the disk. */
  write(entry: JournalEntry): void {
    const unfinished = `${this.fileOf(entry.execution_id)}.new`;
    writeFileSync(unfinished, `${JSON.stringify(entry)}\n`, { mode: 0o600, flush: true });
    renameSync(unfinished, this.fileOf(entry.execution_id));
    this.syncDirectory();
  }

  /** Never throws: the next daemon removes a remaining entry and reports its end again. */
  remove(executionId: string): void {
    try {
      rmSync(this.fileOf(executionId), { force: true });
      this.syncDirectory();
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
      this.log.warn('an entry of the journal could not be removed', { execution_id: executionId, error: code });
    }
  }

  /** Oldest first. Unreadable files are kept, with a warning. */
  read(): JournalEntry[] {
    const entries = readdirSync(this.directory)
      .filter((name) => name.endsWith('.json'))
      .flatMap((name) => this.readFile(name));
    return entries.sort((one, other) => one.started_at.localeCompare(other.started_at));
  }

  private readFile(name: string): JournalEntry[] {
    try {
      return [shape.parse(JSON.parse(readFileSync(join(this.directory, name), 'utf8')))];
    } catch (error) {
      const fault = error instanceof Error ? error.name : 'unknown';
      this.log.warn('an entry of the journal cannot be read', { file: name, error: fault });
      return [];
    }
  }

  private fileOf(executionId: string): string {
    return join(this.directory, `${executionId}.json`);
  }

  /** A new file name is on disk only after its directory was synced. */
  private syncDirectory(): void {
    const directory = openSync(this.directory, 'r');
    try {
      fsyncSync(directory);
    } finally {
      closeSync(directory);
    }
  }
}
