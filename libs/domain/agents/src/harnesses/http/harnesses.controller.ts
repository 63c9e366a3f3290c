import { Controller, Get } from '@nestjs/common';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Operation } from '#platform/http';
import { ListHarnesses, type ListedHarness } from '../application/list-harnesses.js';
import { type HarnessItem, ListHarnessesResponse } from './harness.dto.js';

@Controller('agent/harnesses')
export class HarnessesController {
  constructor(private readonly harnesses: ListHarnesses) {}

  @Get()
  @Authorize('runs:read')
  @Operation({
    id: 'listHarnesses',
    summary: 'List harnesses',
    description:
      'The agents that `harness.type` of a configuration may name, and where they are installed: on the machines of hosted runs, and on the connected self-hosted workers of the caller’s team, or of all their teams without the team header. Told once a minute, so it may be briefly stale. Where hosted runs are carried out in containers nothing is told of them: an image has what it has. A run may name any harness; one that is not installed where the run is carried out ends `FAILED` with the install hint.',
    tag: 'Agents',
    team: true,
    success: { status: 200, description: 'The harnesses.', type: ListHarnessesResponse },
    errors: [403],
  })
  async listHarnesses(@CurrentCaller() caller: Caller): Promise<ListHarnessesResponse> {
    return { harnesses: (await this.harnesses.execute(caller)).map(present) };
  }
}

function present({ id, installHint, isBuiltin, installations }: ListedHarness): HarnessItem {
  return {
    id,
    builtin: isBuiltin,
    ...(installHint === null ? {} : { install_hint: installHint }),
    installations: installations.map(({ workerHost, installed, version, lastSeenAt }) => ({
      location: workerHost ?? 'hosted',
      installed,
      ...(version === null ? {} : { version }),
      last_seen_at: lastSeenAt.toISOString(),
    })),
  };
}
