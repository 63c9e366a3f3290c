import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { toStorableText, truncateUtf8 } from '#platform/kernel';
import { MAX_ARTIFACT_BYTES, MAX_PLAN_BYTES, type RepositoryRef } from '#execution/runner-protocol';
import { LeaseLostError, NoResponseError, UnknownFieldError, type ControlPlane } from '../protocol/control-plane.js';
import { errorText, type RunnerLog } from '../runner-log.js';
import { retry } from '../retry.js';
import type { Workspace } from '../workspace/workspace.js';
import { findArtifacts, type FoundFile, locateFile } from './artifact-finder.js';
import { headingOf, type ArtifactProblem, type ListedFile, type ListedReference } from './artifact-list.js';
import { openOwnFile, UnreadableFile } from './own-file.js';
import type { RepositoryResults } from './repository-results.js';
import { DiffFailure, diffRepository, type RepositoryDiff } from './repository-diff.js';

export interface ArtifactSyncOptions {
  readonly plane: Pick<ControlPlane, 'putArtifact' | 'reportReference'>;
  readonly workspace: Workspace;
  readonly log: RunnerLog;
  /** Those that were cloned for the run. */
  readonly repositories?: readonly RepositoryRef[] | undefined;
  readonly results?: RepositoryResults | undefined;
  /** Of the processes that make the diffs. */
  readonly environment: Readonly<Record<string, string>>;
  /** Of one file; default {@link MAX_ARTIFACT_BYTES}. */
  readonly maxBytes?: number | undefined;
}

interface MadeDiff {
  /** Null: there is none. */
  readonly diff: RepositoryDiff | null;
  /** Why there is none when the repository has one, or what it does not contain. */
  readonly problem: string | null;
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
  /** Paths of files that the agent has reported with a tool. */
  private readonly described = new Set<string>();
  /** Pull requests that the agent has reported with a tool, by their URL. */
  private readonly pullRequests = new Map<string, ListedReference>();
  /** Key of the last diff of each repository, by its directory. */
  private readonly diffs = new Map<string, string>();
  /** By the directory of the repository: made and not uploaded yet. */
  private readonly made = new Map<string, MadeDiff>();
  /** Of the workspace whose diffs were made last. */
  private revision: number | undefined;

  constructor(private readonly options: ArtifactSyncOptions) {}

  /**
   * Makes the diffs of all repositories and reads what was pushed, which {@link collect} uploads. `revision`: of the workspace; nothing
   * is read again for the same one. Absent: it is not known. To be called before the last sweep of processes.
   */
  async readRepositories(signal: AbortSignal, revision?: number): Promise<void> {
    const { repositories = [], workspace, maxBytes, environment, log } = this.options;
    if (revision !== undefined && revision === this.revision) return;
    this.revision = revision;
    await this.options.results?.read(signal);
    for (const repository of repositories) {
      try {
        const diff = await diffRepository(repository, { workspace, maxBytes, environment, signal });
        this.made.set(repository.directory, { diff, problem: diff?.problem ?? null });
      } catch (error) {
        if (!(error instanceof DiffFailure)) {
          log.warn('a diff could not be made', { error: errorText(error) });
          // The reason may have been temporary.
          this.revision = undefined;
        }
        const otherwise = signal.aborted ? 'could not be made in time' : 'could not be made';
        this.made.set(repository.directory, {
          diff: null,
          problem: error instanceof DiffFailure ? error.message : otherwise,
        });
      }
    }
  }

  /** Uploads all artifacts, or until `signal` aborts. Resolves to the problems that were not reported before. */
  async collect(signal: AbortSignal): Promise<ArtifactProblem[]> {
    const { workspace, log } = this.options;
    const problems: ArtifactProblem[] = [];
    try {
      const found = await findArtifacts(workspace);
      problems.push(...found.problems);
      const results = (await this.options.results?.references(signal)) ?? [];
      // What the agent reports itself, it knows better.
      const unlisted = results.filter(({ url }) => !found.references.some((listed) => listed.url === url));
      const entries = [
        ...found.files
          .filter(({ path }) => !this.described.has(path))
          .map((file) => ({ artifact: file.filepath, submit: () => this.uploadFile(file, signal) })),
        ...(await this.withOwn([...found.references, ...unlisted], signal)).map((reference) => ({
          artifact: withoutCredentials(reference.url),
          submit: () => this.submitReference(reference, signal),
        })),
        ...[...this.made].map(([directory, made]) => ({
          artifact: diffPath(directory),
          submit: () => this.uploadDiff(directory, made, signal),
        })),
      ];
      for (const { artifact, submit } of entries) {
        if (signal.aborted) break;
        const problem = await this.isolateFailure(artifact, submit);
        if (problem !== null) problems.push({ artifact, problem });
      }
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

  /** Uploads one artifact at once. Resolves to why it was rejected, or null. Rejects with NoResponseError or LeaseLostError. */
  async report(entry: ListedFile | ListedReference, signal: AbortSignal): Promise<string | null> {
    if (!('path' in entry)) {
      if (entry.artifact_type !== 'PULL_REQUEST') return this.submitReference(entry, signal);
      const isOwn = entry.created_by_run ?? (await this.options.results?.isOwnPullRequest(entry.url, signal)) ?? false;
      const reference = isOwn ? { ...entry, created_by_run: true } : entry;
      this.pullRequests.set(entry.url, reference);
      return this.submitReference(reference, signal);
    }
    const file = locateFile(this.options.workspace, entry);
    const problem = await this.isolateFailure(file.filepath, () => this.uploadFile(file, signal));
    // With this description, and not again without it.
    if (problem === null) this.described.add(file.path);
    return problem;
  }

  /** With those that the agent has reported with a tool. Says which pull requests are the run's own; what is known to be stays so. */
  private async withOwn(references: readonly ListedReference[], signal: AbortSignal): Promise<ListedReference[]> {
    const listed = new Set(references.map(({ url }) => url));
    const all = [...references, ...[...this.pullRequests.values()].filter(({ url }) => !listed.has(url))];
    const urls = all.flatMap(({ artifact_type: type, url }) => (type === 'PULL_REQUEST' ? [url] : []));
    const own = await this.options.results?.ownPullRequests(urls, signal);
    return all.map((reference) =>
      reference.artifact_type === 'PULL_REQUEST' && own?.has(reference.url) === true
        ? { ...reference, created_by_run: true }
        : reference,
    );
  }

  /** An unexpected failure of one entry must not prevent the upload of the others. */
  private async isolateFailure(artifact: string, submit: () => Promise<string | null>): Promise<string | null> {
    try {
      return await submit();
    } catch (error) {
      if (error instanceof UnreadableFile) return error.message;
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

  /** What cannot be made or is rejected replaces the diff of an earlier turn by none. */
  private async uploadDiff(
    directory: string,
    { diff, problem }: MadeDiff,
    signal: AbortSignal,
  ): Promise<string | null> {
    const rejection = diff === null ? null : await this.sendDiff(directory, diff, signal);
    if (diff === null || rejection !== null)
      await this.sendDiff(directory, { commit: '', patch: Buffer.alloc(0) }, signal);
    if (!signal.aborted) this.made.delete(directory);
    return problem ?? rejection;
  }

  private async sendDiff(
    directory: string,
    { commit, patch }: Pick<RepositoryDiff, 'commit' | 'patch'>,
    signal: AbortSignal,
  ): Promise<string | null> {
    const metadata = {
      artifact_type: 'DIFF' as const,
      mime_type: 'text/x-diff',
      filepath: diffPath(directory),
      title: `Changes in ${directory}`,
      ...(patch.length === 0 ? {} : { description: `Applies to commit ${commit}.` }),
    };
    const key = keyOf('diff', [metadata, createHash('sha256').update(patch).digest('hex')]);
    if (this.diffs.get(directory) === key) return null;
    // The repository may have become again what it was before.
    this.submitted.delete(key);
    const rejection = await this.submit(metadata.filepath, key, signal, () =>
      this.options.plane.putArtifact({ ...metadata, source_key: key }, Readable.from([patch]), signal),
    );
    if (this.submitted.has(key)) this.diffs.set(directory, key);
    return rejection;
  }

  private async submitReference(reference: ListedReference, signal: AbortSignal): Promise<string | null> {
    const key = keyOf('reference', reference);
    const { created_by_run: createdByRun, ...known } = reference;
    let isUnknown = false;
    const problem = await this.submit(withoutCredentials(reference.url), key, signal, async () => {
      try {
        return await this.options.plane.reportReference({ ...reference, source_key: key }, signal);
      } catch (error) {
        if (createdByRun === undefined || !(error instanceof UnknownFieldError)) throw error;
        isUnknown = true;
        return null;
      }
    });
    if (!isUnknown) return problem;
    // During an upgrade the control plane can be older than the runner. Reported again after the next turn, when it may be upgraded.
    this.submitted.delete(key);
    return this.submitReference(known, signal);
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

const diffPath = (directory: string): string => `${directory}.diff`;

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
