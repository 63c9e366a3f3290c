import { dirname, relative } from 'node:path';
import { SystemClock, parseJson } from '#platform/kernel';
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
import type { Workspace, RunAs } from './workspace.js';

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
        await this.workspace.makeHomeDirectory(dirname(path));
        await this.workspace.writeNewFile(path, this.relocated(bytes));
        return true;
      },
      { signal, log: this.log },
    );
  }

  /**
   * Moves the transcript of a restored workspace to where the agent looks for it. False: there is none, or the agent alone
   * knows where it has to be.
   */
  async adoptRestored(sessionId: string): Promise<boolean> {
    const { transcript_path: template } = this.harness;
    if (template === undefined) return false;
    const target = transcriptPath(template, this.place(sessionId), clock.now());
    const found = await findTranscript(template, this.place(sessionId));
    if (target === null || found === null) return false;
    const { home, root, runAs } = this.workspace;
    const read = await readTranscript(found, home, MAX_TRANSCRIPT_BYTES, runAs);
    if (read === null) return false;
    try {
      writeFileBelow(root, relative(root, target), this.relocated(read.bytes), runAs);
      return true;
    } catch (error) {
      this.log.warn('the restored transcript could not be placed', { error: errorText(error) });
      return false;
    }
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

  private place(sessionId: string): TranscriptPlace {
    return { home: this.workspace.home, cwd: this.workspace.work, sessionId };
  }
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
