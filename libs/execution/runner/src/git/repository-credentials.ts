import { GitFailure } from '#platform/git';
import { SingleFlight } from '#platform/kernel';
import type { RepositoryCredential, RepositoryRef } from '#execution/runner-protocol';
import type { ControlPlane } from '../protocol/control-plane.js';
import type { Redactor } from '../redaction/redactor.js';
import { errorText, type RunnerLog } from '../runner-log.js';

export interface RepositoryCredentialsOptions {
  readonly plane: Pick<ControlPlane, 'repositoryCredential'>;
  readonly redactor: Redactor;
  readonly log: RunnerLog;
}

/** Time that a request of git needs at most until the server checks its credential. */
const MIN_LEFT_MS = 300_000;

/** The credentials of the repositories of a run. Those that expire are replaced when they are needed. */
export class RepositoryCredentials {
  /** By URL; the assignment has the first ones. */
  private readonly newer = new Map<string, RepositoryCredential>();
  private readonly requests = new SingleFlight<RepositoryCredential>();
  /** By URL: why the last request for a credential was rejected. */
  private readonly problems = new Map<string, string>();

  constructor(private readonly options: RepositoryCredentialsOptions) {}

  /** The repository with a credential that is valid now. Rejects with a GitFailure. */
  async refresh(repository: RepositoryRef): Promise<RepositoryRef> {
    const { url } = repository;
    const credential = this.newer.get(url) ?? repository.credential;
    if (!credential || isFresh(credential)) return credential ? { ...repository, credential } : repository;
    return { ...repository, credential: await this.requests.run(url, undefined, () => this.request(url)) };
  }

  /** Why there is no credential for the repository since its last one has expired; null: there is one. */
  problemOf({ url }: RepositoryRef): string | null {
    return this.problems.get(url) ?? null;
  }

  private async request(url: string): Promise<RepositoryCredential> {
    const { plane, redactor, log } = this.options;
    const answer = await plane.repositoryCredential(url).catch((error: unknown) => {
      log.warn('a credential could not be replaced', { url, error: errorText(error) });
      throw new GitFailure('unavailable', 'The credential has expired, and the service does not provide another one.');
    });
    if ('problem' in answer) {
      this.problems.set(url, answer.problem);
      throw new GitFailure('unavailable', answer.problem);
    }
    this.problems.delete(url);
    const { credential } = answer;
    // Before anything can print it.
    redactor.add(credential.password);
    this.newer.set(url, credential);
    return credential;
  }
}

const isFresh = ({ expires_at: end }: RepositoryCredential): boolean =>
  end === undefined || Date.parse(end) - Date.now() > MIN_LEFT_MS;
