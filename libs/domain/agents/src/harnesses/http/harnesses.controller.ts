import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { ArrayField, BooleanField, DateTimeField, object, Operation, StringField } from '#platform/http';
import { ConfiguredHarnesses } from '../adapters/configured-harnesses.js';

const OPTIONAL = { optional: true } as const;

export class HarnessInstallation {
  @StringField({
    description: 'The name of a connected self-hosted worker, or `hosted`: where hosted runs are executed.',
    example: 'hosted',
  })
  location: string;
  @BooleanField({ description: 'Its command was found on at least one of the machines there.' }) installed: boolean;
  @StringField({ ...OPTIONAL, description: 'Version of its npm package, if it was installed from one.' })
  version?: string;
  @DateTimeField({ description: 'Time of the last report.' }) last_seen_at: string;
}

export class HarnessItem {
  @StringField({ description: 'A value for `harness.type` of a configuration.', example: 'claude' }) id: string;
  @BooleanField({ description: 'Part of Headrace: always there, everywhere.' }) builtin: boolean;
  @StringField({
    ...OPTIONAL,
    description:
      'Instructions for people that install it, from this installation or else from a worker that defines it. Absent for the built-in agent, and when no instructions exist.',
  })
  install_hint?: string;
  @ArrayField(object(() => HarnessInstallation), {
    description: 'Installations of the harness. Empty for the built-in agent.',
  })
  installations: HarnessInstallation[];
}

export class ListHarnessesResponse {
  @ArrayField(object(() => HarnessItem), { description: 'The known harnesses.' }) harnesses: HarnessItem[];
}

@ApiTags('Agents')
@Controller('agent/harnesses')
export class HarnessesController {
  constructor(private readonly harnesses: ConfiguredHarnesses) {}

  @Get()
  @Authorize('runs:read')
  @Operation({
    id: 'listHarnesses',
    summary: 'List harnesses',
    description:
      'The agents that `harness.type` of a configuration may name, and where they are installed: on the machines of hosted runs, and on the connected self-hosted workers of the caller’s team, or of all their teams without the team header. Processors report once a minute, so the list may be briefly stale. When hosted runs are executed in containers, nothing is reported for them: the image determines what is installed. A run may name any harness; a run whose harness is not installed where it is executed ends `FAILED` with the install hint.',
    team: true,
    success: { status: 200, description: 'The harnesses.', type: ListHarnessesResponse },
    errors: [403],
  })
  async listHarnesses(@CurrentCaller() caller: Caller): Promise<ListHarnessesResponse> {
    return { harnesses: (await this.harnesses.list(caller)).map(present) };
  }
}

type ListedHarness = Awaited<ReturnType<ConfiguredHarnesses['list']>>[number];

const present = ({ id, installHint, isBuiltin, installations }: ListedHarness): HarnessItem => ({
  id,
  builtin: isBuiltin,
  install_hint: installHint ?? undefined,
  installations: installations.map(({ workerHost, installed, version, lastSeenAt }) => ({
    location: workerHost ?? 'hosted',
    installed,
    version: version ?? undefined,
    last_seen_at: lastSeenAt.toISOString(),
  })),
});
