import { chown } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { SystemClock, makeDirectory } from '#platform/kernel';
import { MAX_TRANSCRIPT_BYTES } from '#execution/runner-protocol';
import { openOwnFile } from '../artifacts/own-file.js';
import type { Redactor } from '../redaction/redactor.js';
import type { Harness } from '../harness/harnesses.js';
import { LeaseLostError, NoResponseError, type ControlPlane } from '../protocol/control-plane.js';
import { errorText, type RunnerLog } from '../runner-log.js';
import { backoffMs, sleep } from '../sleep.js';
import { retryTransient } from '../transient.js';
import { findTranscript, transcriptPath, type TranscriptPlace } from './transcript-path.js';
import { type Workspace, writeNewFile, type RunAs } from './workspace.js';

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

  /** Resolves to true when a stored transcript was restored. Transient faults are retried until `signal` aborts. */
  async fetch(sessionId: string, signal: AbortSignal): Promise<boolean> {
    const template = this.harness.transcript_path;
    const path = template === undefined ? null : transcriptPath(template, this.place(sessionId), clock.now());
    if (path === null) return false;
    return retryTransient(
      async () => {
        const bytes = await this.plane.getTranscript();
        if (bytes === null) return false;
        await placeTranscript(path, this.relocated(bytes), this.workspace.home, this.workspace.runAs);
        return true;
      },
      { signal, log: this.log },
    );
  }

  /** Uploads the file when it has changed. A failure does not end the execution, except for a lost lease. */
  async upload(sessionId: string): Promise<void> {
    const template = this.harness.transcript_path;
    const path = template === undefined ? null : await findTranscript(template, this.place(sessionId));
    if (path === null) return;
    const { home, runAs } = this.workspace;
    const snapshot = await readTranscript(path, home, MAX_TRANSCRIPT_BYTES, runAs);
    if (snapshot === null || snapshot.version === this.uploadedVersion) return;
    const bytes = this.redactor.bytes(snapshot.bytes);
    for (let attempt = 0; attempt < UPLOAD_TRIES; attempt += 1) {
      try {
        await this.plane.putTranscript(bytes, this.harness.id, sessionId);
        this.uploadedVersion = snapshot.version;
        return;
      } catch (error) {
        if (error instanceof LeaseLostError) throw error;
        this.log.warn('the transcript could not be uploaded', { error: errorText(error), attempt });
        if (!(error instanceof NoResponseError)) return;
        await sleep(backoffMs(attempt, 200, 2_000));
      }
    }
  }

  private relocated(bytes: Uint8Array): Uint8Array {
    const field = this.harness.transcript_cwd_field;
    return field === undefined ? bytes : relocateTranscript(bytes, field, this.workspace.work);
  }

  private place(sessionId: string): TranscriptPlace {
    return { home: this.workspace.home, cwd: this.workspace.work, sessionId };
  }
}

/**
 * Replaces the working directory of each line of a transcript, in its top-level `field`: some agents load a session only
 * in the directory in which it began. Lines that are not objects, or without the field, are not changed.
 */
export function relocateTranscript(bytes: Uint8Array, field: string, cwd: string): Uint8Array {
  const lines = Buffer.from(bytes).toString('utf8').split('\n');
  return Buffer.from(lines.map((line) => relocated(line, field, cwd)).join('\n'), 'utf8');
}

function relocated(line: string, field: string, cwd: string): string {
  try {
    const record = JSON.parse(line) as unknown;
    if (typeof record !== 'object' || record === null || !Object.hasOwn(record, field)) return line;
    return JSON.stringify({ ...record, [field]: cwd });
  } catch {
    return line; // the end of the file, or not JSON
  }
}

/** Writes a stored transcript where the harness expects it. To be called before anything else runs in the workspace. */
export async function placeTranscript(path: string, bytes: Uint8Array, home: string, runAs?: RunAs): Promise<void> {
  let directory = home;
  for (const part of relative(home, dirname(path)).split(sep)) {
    directory = join(directory, part);
    await makeDirectory(directory);
    if (runAs) await chown(directory, runAs.uid, runAs.gid);
  }
  await writeNewFile(path, bytes);
  if (runAs) await chown(path, runAs.uid, runAs.gid);
}

export interface TranscriptSnapshot {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Changes with the file. */
  readonly version: string;
}

/**
 * Reads the transcript, whole lines only. The agent controls the file and the runner may be root: it is read only when it
 * is a regular file of the execution's user inside its home, else the result is null.
 */
export async function readTranscript(
  path: string,
  home: string,
  maxBytes: number,
  runAs?: RunAs,
): Promise<TranscriptSnapshot | null> {
  const own = await openOwnFile(path, home, runAs).catch(() => null);
  if (own === null) return null;
  try {
    if (own.sizeBytes > maxBytes) return null;
    const bytes = Buffer.alloc(own.sizeBytes);
    const { bytesRead } = await own.file.read(bytes, 0, own.sizeBytes, 0);
    const whole = bytes.subarray(0, bytesRead);
    const lastLine = whole.lastIndexOf(0x0a);
    const lines = lastLine < 0 ? whole : whole.subarray(0, lastLine + 1);
    return lines.length === 0 ? null : { bytes: lines, version: own.version };
  } finally {
    await own.file.close();
  }
}
