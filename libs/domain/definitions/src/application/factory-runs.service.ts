import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { AgentDirectory } from '#domain/agents';
import { FactoriesService, type Factory, type SearchFactoriesQuery } from '#domain/factories';
import { CreateRun, type CreateRunResult, type IdempotencyClaim } from '#domain/runs';
import { BUILTIN_HARNESS } from '#execution/runner';
import { type Caller, isAllowed } from '#platform/auth';
import { base62, issueSentence, newUid } from '#platform/kernel';
import { toAgentConfig } from '../domain/desired-state.js';
import { ADHOC, parseTicketRef, type Ticket, ticketRef, ticketUrlFault } from '../domain/ticket.js';
import { DefinitionsStore } from '../persistence/definitions.store.js';

/** The agent that executes the runs that are dispatched to its factory. */
export const FOREMAN = 'foreman';

/** A factory with the UID of the identity of its foreman; null: it has none. */
export type DiscoveredFactory = Factory & { readonly foremanUid: string | null };

interface DispatchRunCommand {
  readonly prompt: string;
  readonly title?: string;
  /** `<source>:<id>`; generated when it is absent. */
  readonly ticketRef?: string;
  readonly ticketUrl?: string;
  readonly idempotency: IdempotencyClaim | null;
}

@Injectable()
export class FactoryRunsService {
  constructor(
    private readonly factories: FactoriesService,
    private readonly definitions: DefinitionsStore,
    private readonly agents: AgentDirectory,
    private readonly createRun: CreateRun,
  ) {}

  async list(caller: Caller, query: SearchFactoriesQuery) {
    const found = await this.factories.search(caller, query);
    return found.kind === 'page' ? { ...found, items: await this.withForemen(found.items) } : found;
  }

  /** A factory of another team is not found. */
  async get(caller: Caller, uid: string) {
    const factory = await this.factories.find(uid);
    if (!factory || !isAllowed(caller, { teamUid: factory.teamUid, userUid: null }, 'factories:read'))
      return { kind: 'not_found' as const };
    const [discovered] = await this.withForemen([factory]);
    return discovered ? { kind: 'found' as const, factory: discovered } : { kind: 'not_found' as const };
  }

  /** Creates a run that the factory's team owns. `agent`: its foreman; the harness where the factory has none. */
  async dispatch(caller: Caller, factoryUid: string, command: DispatchRunCommand) {
    const found = await this.get(caller, factoryUid);
    if (found.kind !== 'found') return found;
    const { factory } = found;
    const { teamUid, foremanUid } = factory;
    if (!isAllowed(caller, { teamUid, userUid: null })) return { kind: 'forbidden' as const };
    const ticket = labelsOf(caller, factory, command);
    if (ticket.kind === 'invalid') return ticket;
    const defaults = foremanUid === null ? await this.definitions.agentDefaults(factoryUid) : {};
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
    if (result.kind !== 'created') return this.rejection(factory, result);
    const agent = foremanUid === null ? (defaults.harness ?? BUILTIN_HARNESS) : FOREMAN;
    const { runId, state } = result;
    return { kind: 'dispatched' as const, runId, state, agent, ticketRef: ticket.ref };
  }

  private async withForemen(factories: readonly Factory[]): Promise<DiscoveredFactory[]> {
    const uids = factories.map(({ uid }) => uid);
    const foremen = await this.definitions.identitiesNamed(FOREMAN, uids);
    return factories.map((factory) => ({ ...factory, foremanUid: foremen.get(factory.uid) ?? null }));
  }

  /** The request contains no settings: invalid settings are those of the factory. */
  private async rejection(
    { teamUid, foremanUid }: DiscoveredFactory,
    rejected: Exclude<CreateRunResult, { kind: 'created' }>,
  ) {
    if (rejected.kind === 'key_reused') return rejected;
    const foreman = foremanUid === null ? null : await this.agents.findIdentity(foremanUid, teamUid);
    if (foremanUid !== null && foreman?.available !== true) return { kind: 'foreman_missing' as const };
    switch (rejected.kind) {
      case 'unavailable':
        return rejected;
      case 'not_authorized':
        return { kind: 'unusable_settings' as const, reason: rejected.detail };
      case 'invalid':
      case 'too_large':
        return { kind: 'unusable_settings' as const, reason: issueSentence(rejected) };
      case 'conversation_busy':
        throw new Error('A dispatched run continues no conversation.');
    }
  }
}

function labelsOf(
  { principal }: Caller,
  { uid }: Factory,
  { ticketRef: asked, ticketUrl, idempotency }: DispatchRunCommand,
) {
  const invalid = (pointer: string, detail: string) => ({
    kind: 'invalid' as const,
    issues: [{ pointer, detail }],
  });
  const ticket = asked === undefined ? adhocTicket(`${uid}/${principal.uid}`, idempotency) : parseTicketRef(asked);
  if (ticket === null)
    return invalid(
      '/ticket_ref',
      'must be <source>:<id> without spaces, such as linear:ENG-42, of at most 256 bytes in UTF-8',
    );
  const fault = ticketUrl === undefined ? null : ticketUrlFault(ticketUrl);
  if (fault !== null) return invalid('/ticket_url', fault);
  const labels = {
    factory_uid: uid,
    ticket_source: ticket.source,
    ticket_id: ticket.id,
    ...(ticketUrl !== undefined && { ticket_url: ticketUrl }),
  };
  return { kind: 'labels' as const, ref: ticketRef(ticket), labels };
}

/** From the key if there is one, so that a repeated request returns the reference of the run that it created. */
function adhocTicket(scope: string, claim: IdempotencyClaim | null): Ticket {
  if (claim === null) return { source: ADHOC, id: newUid() };
  const digest = createHash('sha256').update(`${scope}/${claim.key}`).digest();
  return { source: ADHOC, id: base62(digest.subarray(0, 16), 22) };
}
