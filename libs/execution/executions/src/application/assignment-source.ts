import type { Assignment, HarnessDefinition, RepositoryCredentialAnswer } from '#execution/runner-protocol';
import type { ErrorCode } from '#platform/kernel';
import type { AgentConfig } from '../domain/run.js';

export type BuiltAssignment =
  | { readonly kind: 'ready'; readonly assignment: Omit<Assignment, 'ttl_seconds' | 'next_beat_seconds'> }
  | { readonly kind: 'impossible'; readonly errorCode: ErrorCode; readonly message: string }
  | { readonly kind: 'unknown_run' };

/** What the frame of an offer shows of a run's configuration. */
export interface OfferDescription {
  readonly config: AgentConfig;
  /** Image of the environment, where it names one. */
  readonly dockerImage: string | null;
  /** Secrets of the harness, by the names of their environment variables. */
  readonly secrets: Readonly<Record<string, string>>;
}

/** This library knows none of the resources that a run refers to; the library `runs` implements the port. */
export abstract class AssignmentSource {
  /** Definitions of harnesses that the installation adds to the standard ones. */
  abstract get harnesses(): Record<string, HarnessDefinition>;

  abstract build(runId: string, executionId: string, leaseEpoch: number): Promise<BuiltAssignment>;

  /** Another credential for a repository of a run whose first one expires. */
  abstract repositoryCredential(runId: string, executionId: string, url: string): Promise<RepositoryCredentialAnswer>;

  /** @param secretsOfTeam the team whose secrets go with the offer; null: none do. */
  abstract describeOffer(config: AgentConfig, secretsOfTeam: string | null): Promise<OfferDescription>;

  /** Image of the environment in which an execution's run is prepared; null: it names none. */
  abstract imageOf(executionId: string): Promise<string | null>;

  /** Records with an environment how a set-up in it went. Never rejects: a fault here loses a hint in a list. */
  abstract recordSetup(environmentUid: string, outcome: 'succeeded' | 'failed'): Promise<void>;
}
