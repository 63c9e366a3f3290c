import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { toStorableText, truncateUtf8 } from '#platform/kernel';
import { MAX_ARTIFACT_BYTES, MAX_PLAN_BYTES, type RepositoryRef } from '#execution/runner-protocol';
import { LeaseLostError, NoResponseError, type ControlPlane } from '../protocol/control-plane.js';
import { errorText, type RunnerLog } from '../runner-log.js';
import { retry } from '../retry.js';
import type { Workspace } from '../workspace/workspace.js';
import { findArtifacts, type FoundFile } from './artifact-finder.js';
import { headingOf, type ArtifactProblem, type ListedReference } from './artifact-list.js';
import { openOwnFile, UnreadableFile } from './own-file.js';
import { DiffFailure, diffRepository } from './repository-diff.js';

export interface ArtifactSyncOptions {
  readonly plane: Pick<ControlPlane, 'putArtifact' | 'reportReference'>;
  readonly workspace: Workspace;
  readonly log: RunnerLog;
  /** Those that were cloned for the run. */
  readonly repositories?: readonly RepositoryRef[] | undefined;
  /** The run has had an execution before, which may have reported diffs. */
  readonly isContinued?: boolean;
  /** Of one file; default {@link MAX_ARTIFACT_BYTES}. */
  readonly maxBytes?: number | undefined;
}

const UPLOAD_TRIES = 4;
/** Reported per execution. */
const MAX_PROBLEMS = 50;

/** Never uploads the same content and description again. No failure ends the execution, except for a lost lease. */
export class ArtifactSync {
  private readonly submitted = new Set<string>();
  /** State of each file at its last upload, so that large ones are not read after every turn. */
  private readonly versions = new Map<string, string>();
  private readonly reported = new Set<string>();
  /** Key of the last diff of each repository, by its directory. */
  private readonly diffs = new Map<string, string>();
  /** Of the workspace, whose diffs are uploaded. */
  private revision: number | undefined;

  constructor(private readonly options: ArtifactSyncOptions) {}

  /**
   * Uploads all artifacts, or until `signal` aborts. Resolves to the problems that were not reported before. `revision`: of
   * the workspace; the diffs of the repositories are not made again for the same one. Absent: it is not known.
   */
  async collect(signal: AbortSignal, revision?: number): Promise<ArtifactProblem[]> {
    const { workspace, log, repositories = [] } = this.options;
    const problems: ArtifactProblem[] = [];
    try {
      const found = await findArtifacts(workspace);
      problems.push(...found.problems);
      const entries = [
        ...found.files.map((file) => ({ artifact: file.filepath, submit: () => this.uploadFile(file, signal) })),
        ...found.references.map((reference) => ({
          artifact: withoutCredentials(reference.url),
          submit: () => this.submitReference(reference, signal),
        })),
        ...(revision === undefined || revision !== this.revision ? repositories : []).map((repository) => ({
          artifact: diffPath(repository),
          submit: () => this.uploadDiff(repository, signal),
        })),
      ];
      for (const { artifact, submit } of entries) {
        if (signal.aborted) break;
        const problem = await this.isolateFailure(artifact, submit);
        if (problem !== null) problems.push({ artifact, problem });
      }
      if (!signal.aborted) this.revision = revision;
    } catch (error) {
      if (error instanceof LeaseLostError) throw error;
      log.warn('the artifacts could not be collected', { error: errorText(error) });
      // The others would fail too; all are tried again after the next turn.
      if (error instanceof NoResponseError)
        problems.push({
          artifact: 'some artifacts',
          problem: 'could not be uploaded yet: the control plane does not respond',
        });
    }
    return this.newProblems(problems);
  }

  /** An unexpected failure of one entry must not prevent the upload of the others. */
  private async isolateFailure(artifact: string, submit: () => Promise<string | null>): Promise<string | null> {
    try {
      return await submit();
    } catch (error) {
      if (error instanceof UnreadableFile || error instanceof DiffFailure) return error.message;
      if (error instanceof LeaseLostError || error instanceof NoResponseError) throw error;
      this.options.log.warn('an artifact could not be uploaded', { artifact, error: errorText(error) });
      return 'could not be read';
    }
  }

  private async uploadFile(found: FoundFile, signal: AbortSignal): Promise<string | null> {
    const { workspace, maxBytes = MAX_ARTIFACT_BYTES } = this.options;
    const { path } = found;
    const { file, sizeBytes, version } = await openOwnFile(path, workspace.boundsOf(path), workspace.runAs);
    try {
      const { artifact_type: type, mime_type, filepath, title, description, url } = found;
      const seen = JSON.stringify([version, type, mime_type, title, description, url]);
      if (this.versions.get(path) === seen) return null;
      const limit = type === 'PLAN' ? Math.min(MAX_PLAN_BYTES, maxBytes) : maxBytes;
      if (sizeBytes > limit) return `has ${sizeBytes} bytes; the limit is ${limit}`;
      const content = (): Readable =>
        sizeBytes === 0 ? Readable.from([]) : file.createReadStream({ start: 0, end: sizeBytes - 1, autoClose: false });
      const heading = type === 'PLAN' && title === undefined ? headingOf(await text(content())) : title;
      const metadata = {
        artifact_type: type,
        mime_type: clean(mime_type, 200),
        filepath: clean(filepath, 1024),
        title: heading === undefined || heading.trim() === '' ? undefined : clean(heading, 512),
        description: description === undefined ? undefined : clean(description, 2048),
        url,
      };
      const key = keyOf('file', [metadata, await hashOf(content())]);
      const problem = await this.submit(filepath, key, signal, () =>
        this.options.plane.putArtifact({ ...metadata, source_key: key }, content(), signal),
      );
      if (this.submitted.has(key)) this.versions.set(path, seen);
      return problem;
    } finally {
      await file.close();
    }
  }

  private async uploadDiff(repository: RepositoryRef, signal: AbortSignal): Promise<string | null> {
    const { workspace, maxBytes, isContinued } = this.options;
    const diff = await diffRepository(repository, workspace, { maxBytes, signal });
    if (diff === null) return null;
    const { directory } = repository;
    const metadata = {
      artifact_type: 'DIFF' as const,
      mime_type: 'text/x-diff',
      filepath: diffPath(repository),
      title: `Changes in ${directory}`,
      description: `Applies to commit ${diff.commit}.`,
    };
    const key = keyOf('diff', [metadata, createHash('sha256').update(diff.patch).digest('hex')]);
    const last = this.diffs.get(directory);
    if (last === key || (last === undefined && diff.patch.length === 0 && isContinued !== true)) return null;
    // The repository may have become again what it was before.
    this.submitted.delete(key);
    const problem = await this.submit(metadata.filepath, key, signal, () =>
      this.options.plane.putArtifact({ ...metadata, source_key: key }, Readable.from([diff.patch]), signal),
    );
    if (this.submitted.has(key)) this.diffs.set(directory, key);
    return problem;
  }

  private submitReference(reference: ListedReference, signal: AbortSignal): Promise<string | null> {
    const key = keyOf('reference', reference);
    return this.submit(withoutCredentials(reference.url), key, signal, () =>
      this.options.plane.reportReference({ ...reference, source_key: key }, signal),
    );
  }

  /** Rejects with NoResponseError when the control plane does not respond to repeated attempts. */
  private async submit(
    name: string,
    key: string,
    signal: AbortSignal,
    send: () => Promise<string | null>,
  ): Promise<string | null> {
    if (this.submitted.has(key) || signal.aborted) return null;
    const again = (error: unknown, attempt: number): boolean => {
      if (error instanceof LeaseLostError) return false;
      const fields = { artifact: name, error: errorText(error), attempt: attempt + 1 };
      this.options.log.warn('an artifact could not be uploaded', fields);
      return error instanceof NoResponseError && attempt + 1 < UPLOAD_TRIES && !signal.aborted;
    };
    try {
      const rejection = await retry(send, { firstMs: 400, maxMs: 2_000, signal, again });
      this.submitted.add(key);
      return rejection;
    } catch (error) {
      if (error instanceof NoResponseError && signal.aborted) return null;
      if (error instanceof NoResponseError || error instanceof LeaseLostError) throw error;
      this.submitted.add(key);
      return 'was rejected by the control plane';
    }
  }

  private newProblems(problems: readonly ArtifactProblem[]): ArtifactProblem[] {
    const fresh: ArtifactProblem[] = [];
    for (const problem of problems) {
      const key = JSON.stringify(problem);
      if (this.reported.has(key) || this.reported.size >= MAX_PROBLEMS) continue;
      this.reported.add(key);
      fresh.push({ artifact: clean(problem.artifact, 256), problem: clean(problem.problem, 512) });
      this.options.log.warn('an artifact was rejected', { ...problem });
    }
    return fresh;
  }
}

const diffPath = ({ directory }: RepositoryRef): string => `${directory}.diff`;

const clean = (text: string, maxBytes: number): string => truncateUtf8(toStorableText(text).text, maxBytes).text;

const keyOf = (kind: string, identity: unknown): string =>
  `${kind}:${createHash('sha256').update(JSON.stringify(identity)).digest('hex')}`;

/** Credentials in a URL must not appear in a problem. */
const withoutCredentials = (url: string): string => url.replace(/\/\/[^/?#]*@/, '//');

async function hashOf(content: Readable): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of content as AsyncIterable<Buffer>) hash.update(chunk);
  return hash.digest('hex');
}
