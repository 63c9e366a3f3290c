import { SystemClock } from '#platform/kernel';
import { MAX_TRANSCRIPT_BYTES } from '#execution/runner-protocol';
import type { Redactor } from '../redaction/redactor.js';
import type { Harness } from '../harness/harnesses.js';
import { LeaseLostError, NoAnswerError, type ControlPlane } from '../protocol/control-plane.js';
import { errorText, type RunnerLog } from '../runner-log.js';
import { backoffMs, sleep } from '../sleep.js';
import { retryTransient } from '../transient.js';
import { relocateTranscript } from './relocate-transcript.js';
import { placeTranscript, readTranscript } from './transcript-file.js';
import { findTranscript, transcriptPath, type TranscriptPlace } from './transcript-path.js';
import type { Workspace } from './workspace.js';

const UPLOAD_TRIES = 4;
const clock = new SystemClock();

/** Brings the stored transcript into the workspace before the agent starts, and the agent's own file out again after each turn. */
export class TranscriptSync {
  private uploadedVersion = '';

  constructor(
    private readonly plane: ControlPlane,
    private readonly harness: Harness,
    private readonly workspace: Workspace,
    private readonly log: RunnerLog,
    private readonly redactor: Redactor,
  ) {}

  /** Whether a stored transcript is now where the agent looks for it. Transient faults are retried until `signal` aborts. */
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

  /** Uploads the file when there is one and it has changed. Failing does not end anything, except for a lost lease. */
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
        if (!(error instanceof NoAnswerError)) return;
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
