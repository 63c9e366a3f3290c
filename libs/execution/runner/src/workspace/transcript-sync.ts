import { lstat, readFile, realpath, rename, rm } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { newUuid, SystemClock, parseJson } from '#platform/kernel';
import { MAX_TRANSCRIPT_BYTES } from '#execution/runner-protocol';
import { readOwnFile } from '../artifacts/own-file.js';
import type { Redactor } from '../redaction/redactor.js';
import type { Harness } from '../harness/harnesses.js';
import { LeaseLostError, NoResponseError, type ControlPlane } from '../protocol/control-plane.js';
import { errorText, type RunnerLog } from '../runner-log.js';
import { retry } from '../retry.js';
import { writeFileBelow } from '../snapshot/open-directory.js';
import { retryTransient } from '../transient.js';
import { findTranscript, transcriptPath, type TranscriptPlace } from './transcript-path.js';
import { makeHomeDirectories, removeTree, type RunAs, type Workspace } from './workspace.js';

const UPLOAD_TRIES = 4;
const clock = new SystemClock();

/** Restores the stored transcript before the agent starts, and uploads the agent's transcript after each turn. */
export class TranscriptSync {
  private uploadedVersion = '';

  constructor(
    private readonly plane: ControlPlane,
    private readonly harness: Harness,
    private readonly workspace: Workspace,
    private readonly log: RunnerLog,
    private readonly redactor: Redactor,
  ) {}

  /**
   * Places the transcript that the agent loads, before anything runs in the workspace. `isStored`: the control plane has one.
   * `isRestored`: the workspace is that of a snapshot, whose transcript is used when there is no other. Resolves to true when
   * a transcript was placed. Transient faults are retried until `signal` aborts.
   */
  async place(
    sessionId: string,
    { isStored, isRestored }: { readonly isStored: boolean; readonly isRestored: boolean },
    signal: AbortSignal,
  ): Promise<boolean> {
    const template = this.harness.transcript_path;
    const path = template === undefined ? null : transcriptPath(template, this.placeOf(sessionId), clock.now());
    const restored = isRestored ? await this.read(sessionId) : null;
    if (isRestored) await this.removeState();
    if (path === null) return false;
    const stored = isStored
      ? await retryTransient(() => this.plane.getTranscript(), { signal, log: this.log })
      : (restored?.bytes ?? null);
    if (stored === null) return false;
    try {
      await this.write(path, this.relocated(stored));
      return true;
    } catch (error) {
      // A link of the agent is in the path.
      this.log.warn('the transcript could not be placed', { error: errorText(error) });
      return false;
    }
  }

  /** After a restore: what the agent knows about workspaces at other paths. Not through links. */
  async removeState(): Promise<void> {
    const { home, isInPlace } = this.workspace;
    // The home directory of a user was not restored, and has the state of other sessions.
    if (isInPlace) return;
    const realHome = await realpath(home);
    for (const template of this.harness.state_paths ?? []) {
      const path = template.replace('{home}', home);
      const parent = await realpath(dirname(path)).catch(() => null);
      if (parent === join(realHome, relative(home, dirname(path)))) await removeTree(path);
    }
    makeHomeDirectories(this.harness, this.workspace);
  }

  /** Uploads the file when it has changed. A failure does not end the execution, except for a lost lease. */
  async upload(sessionId: string): Promise<void> {
    const snapshot = await this.read(sessionId);
    if (snapshot === null || snapshot.version === this.uploadedVersion) return;
    const bytes = this.redactor.bytes(snapshot.bytes);
    const again = (error: unknown, attempt: number): boolean => {
      if (error instanceof LeaseLostError) return false;
      this.log.warn('the transcript could not be uploaded', { error: errorText(error), attempt });
      return error instanceof NoResponseError && attempt + 1 < UPLOAD_TRIES;
    };
    try {
      const upload = () => this.plane.putTranscript(bytes, this.harness.id, sessionId);
      await retry(upload, { firstMs: 200, maxMs: 2_000, again });
      this.uploadedVersion = snapshot.version;
    } catch (error) {
      if (error instanceof LeaseLostError) throw error;
    }
  }

  private relocated(bytes: Uint8Array): Uint8Array {
    const field = this.harness.transcript_cwd_field;
    return field === undefined ? bytes : relocateTranscript(bytes, field, this.workspace.work);
  }

  /** The home directory of a user may have links, and an earlier version of this session. */
  private async write(path: string, bytes: Uint8Array): Promise<void> {
    const { home, runAs, isInPlace } = this.workspace;
    if (!isInPlace) return writeFileBelow(home, relative(home, path), bytes, runAs);
    this.workspace.makeHomeDirectory(dirname(path));
    if (await isContinued(path, bytes)) return;
    const part = `${path}.${newUuid()}`;
    try {
      await this.workspace.writeNewFile(part, bytes);
      await rename(part, path);
    } catch (error) {
      await rm(part, { force: true });
      throw error;
    }
  }

  private async read(sessionId: string) {
    const template = this.harness.transcript_path;
    const path = template === undefined ? null : await findTranscript(template, this.placeOf(sessionId));
    const { home, runAs } = this.workspace;
    return path === null ? null : readTranscript(path, home, MAX_TRANSCRIPT_BYTES, runAs);
  }

  private placeOf(sessionId: string): TranscriptPlace {
    return { home: this.workspace.home, cwd: this.workspace.work, sessionId };
  }
}

/** The user has continued the session on this machine. Rejects for a link, which is not replaced. */
async function isContinued(path: string, stored: Uint8Array): Promise<boolean> {
  const found = await lstat(path).catch(() => null);
  if (found === null) return false;
  if (!found.isFile()) throw new Error('There is no regular file at the path of the transcript.');
  if (found.size < stored.length) return false;
  return (await readFile(path)).subarray(0, stored.length).equals(stored);
}

/** Some agents load a session only in the directory in which it began. Lines without the field are not changed. */
export function relocateTranscript(bytes: Uint8Array, field: string, cwd: string): Uint8Array {
  const lines = Buffer.from(bytes).toString('utf8').split('\n');
  return Buffer.from(lines.map((line) => relocated(line, field, cwd)).join('\n'), 'utf8');
}

function relocated(line: string, field: string, cwd: string): string {
  const record = parseJson(line);
  if (typeof record !== 'object' || record === null || !Object.hasOwn(record, field)) return line;
  return JSON.stringify({ ...record, [field]: cwd });
}

/** Whole lines only; null when the file is not one that {@link readOwnFile} reads. */
export async function readTranscript(
  path: string,
  home: string,
  maxBytes: number,
  runAs?: RunAs,
): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly version: string } | null> {
  const read = await readOwnFile(path, home, runAs, maxBytes).catch(() => null);
  if (read === null || read.bytes.length === 0) return null;
  return { bytes: read.bytes.subarray(0, read.bytes.lastIndexOf(0x0a) + 1 || undefined), version: read.version };
}
