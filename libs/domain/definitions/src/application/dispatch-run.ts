import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { AgentDirectory } from '#domain/agents';
import { CreateRun, type CreateRunResult, type IdempotencyClaim, mayOnOwner, type RunState } from '#domain/runs';
import type { Caller } from '#platform/auth';
import { base62, type Issue, issueSentence, newUid } from '#platform/kernel';
import { BUILT_IN_HARNESS, type DiscoveredFactory, FindFactories, FOREMAN } from './find-factories.js';
import { toAgentConfig } from '../domain/desired-state.js';
import { ADHOC, parseTicketRef, type Ticket, ticketRef, ticketUrlFault } from '../domain/ticket.js';
import { FactoryAgentsStore } from '../persistence/definitions.store.js';

export interface DispatchRunCommand {
  readonly prompt: string;
  readonly title?: string;
  /** `<source>:<id>`; without one, one is made. */
  readonly ticketRef?: string;
  readonly ticketUrl?: string;
  readonly idempotency: IdempotencyClaim | null;
}

export type DispatchRunResult =
  | {
      readonly kind: 'dispatched';
      readonly runId: string;
      readonly state: RunState;
      /** Name of the agent that works on it; the harness where the factory has no foreman. */
      readonly agent: string;
      readonly ticketRef: string;
    }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'forbidden' }
  | ({ readonly kind: 'invalid' } & Issue)
  /** The foreman was deleted, or is not available. */
  | { readonly kind: 'foreman_missing' }
  /** What the factory starts its agents with cannot be used; in words for a person. */
  | { readonly kind: 'unusable_settings'; readonly reason: string }
  /** Something that they name cannot be read at the moment. */
  | ({ readonly kind: 'unavailable' } & Issue)
  | { readonly kind: 'key_reused' };

type Labels = { readonly kind: 'labels'; readonly ref: string; readonly labels: Readonly<Record<string, string>> };

/** Gives work to a factory: its foreman starts on it, in a run that the factory's team owns. */
@Injectable()
export class DispatchRun {
  constructor(
    private readonly factories: FindFactories,
    private readonly agents: FactoryAgentsStore,
    private readonly directory: AgentDirectory,
    private readonly createRun: CreateRun,
  ) {}

  async execute(caller: Caller, factoryUid: string, command: DispatchRunCommand): Promise<DispatchRunResult> {
    const factory = await this.factories.find(caller, factoryUid);
    if (!factory) return { kind: 'unknown' };
    const { teamUid, foremanUid } = factory;
    if (!mayOnOwner(caller, { teamUid, userUid: null }, 'runs:write')) return { kind: 'forbidden' };
    const ticket = labelsOf(caller, factory, command);
    if (ticket.kind === 'invalid') return ticket;
    const defaults = foremanUid === null ? await this.agents.defaults(factoryUid) : {};
    const result = await this.createRun.execute(
      { ...caller, teamUid, teamUids: [teamUid] },
      {
        prompt: command.prompt,
        title: command.title,
        team: true,
        source: 'API',
        config: toAgentConfig(defaults) ?? undefined,
        agentIdentityUid: foremanUid ?? undefined,
        automaticMetadata: ticket.labels,
        idempotency: command.idempotency,
      },
    );
    if (result.kind !== 'created') return this.refusal(factory, result);
    const agent = foremanUid === null ? (defaults.harness ?? BUILT_IN_HARNESS) : FOREMAN;
    return { kind: 'dispatched', runId: result.runId, state: result.state, agent, ticketRef: ticket.ref };
  }

  /** The request names no settings: whatever is wrong with them is wrong with the factory's. */
  private async refusal(
    { teamUid, foremanUid }: DiscoveredFactory,
    refused: Exclude<CreateRunResult, { kind: 'created' }>,
  ): Promise<DispatchRunResult> {
    if (refused.kind === 'key_reused') return refused;
    const foreman = foremanUid === null ? null : await this.directory.findIdentity(foremanUid, teamUid);
    if (foremanUid !== null && foreman?.available !== true) return { kind: 'foreman_missing' };
    switch (refused.kind) {
      case 'unavailable':
        return refused;
      case 'not_authorized':
        return { kind: 'unusable_settings', reason: refused.detail };
      case 'invalid':
      case 'too_large':
        return { kind: 'unusable_settings', reason: issueSentence(refused) };
      case 'conversation_busy':
        throw new Error('A dispatched run continues no conversation.');
    }
  }
}

function labelsOf(
  { principal }: Caller,
  { uid }: DiscoveredFactory,
  { ticketRef: asked, ticketUrl, idempotency }: DispatchRunCommand,
): Labels | Extract<DispatchRunResult, { kind: 'invalid' }> {
  const ticket = asked === undefined ? adhocTicket(`${uid}/${principal.uid}`, idempotency) : parseTicketRef(asked);
  if (ticket === null) {
    const detail = 'must be <source>:<id> without spaces, such as linear:ENG-42, of at most 256 bytes in UTF-8';
    return { kind: 'invalid', pointer: '/ticket_ref', detail };
  }
  const fault = ticketUrl === undefined ? null : ticketUrlFault(ticketUrl);
  if (fault !== null) return { kind: 'invalid', pointer: '/ticket_url', detail: fault };
  const labels = {
    factory_uid: uid,
    ticket_source: ticket.source,
    ticket_id: ticket.id,
    ...(ticketUrl === undefined ? {} : { ticket_url: ticketUrl }),
  };
  return { kind: 'labels', ref: ticketRef(ticket), labels };
}

/** From the key where there is one, so that a repeated request returns the reference of the run that it started. */
function adhocTicket(scope: string, claim: IdempotencyClaim | null): Ticket {
  if (claim === null) return { source: ADHOC, id: newUid() };
  const digest = createHash('sha256').update(`${scope}/${claim.key}`).digest();
  return { source: ADHOC, id: base62(digest.subarray(0, 16), 22) };
}
