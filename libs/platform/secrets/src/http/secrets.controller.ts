import { Body, Controller, Delete, Get, Param, Put } from '@nestjs/common';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Operation, pathId, ProblemError } from '#platform/http';
import { TeamSecrets } from '../application/team-secrets.js';
import { SECRET_NAME } from '../domain/managed-secret.js';
import { nameOfNewSecret } from './new-secret-name.js';
import { refusal } from './refusals.js';
import { ListSecretsResponse, PutSecretRequest, SecretVersion } from './secret.dto.js';

const TAG = 'Secrets';

@Controller('secrets')
export class SecretsController {
  constructor(private readonly secrets: TeamSecrets) {}

  @Get()
  @Authorize('secrets:manage')
  @Operation({
    id: 'listSecrets',
    summary: 'List secrets',
    description: 'Names and dates of the team’s secrets, by name, never a value. Needs the role admin or owner.',
    tag: TAG,
    team: true,
    success: { status: 200, description: 'The secrets.', type: ListSecretsResponse },
    errors: [400, 403],
  })
  async listSecrets(@CurrentCaller() caller: Caller): Promise<ListSecretsResponse> {
    const secrets = await this.secrets.list(teamOf(caller));
    return {
      secrets: secrets.map(({ name, purpose, createdAt, updatedAt }) => ({
        name,
        purpose,
        created_at: createdAt.toISOString(),
        updated_at: updatedAt.toISOString(),
      })),
    };
  }

  @Put(':name')
  @Authorize('secrets:manage')
  @Operation({
    id: 'putSecret',
    summary: 'Create or update a secret',
    description:
      'The value is encrypted at rest and never told again. Webhooks that use the secret follow at once, unless they come from a definition. A team has at most 1,000. Needs the role admin or owner.',
    tag: TAG,
    team: true,
    request: { value: { value: 'replace-this-value' } },
    success: { status: 200, description: 'The secret without its value, also when it is new.', type: SecretVersion },
    errors: [400, 403, 'limit_reached', 409, 413, 415],
  })
  async putSecret(
    @CurrentCaller() caller: Caller,
    @Param('name', nameOfNewSecret) name: string,
    @Body() { value, purpose }: PutSecretRequest,
  ): Promise<SecretVersion> {
    const result = await this.secrets.set(teamOf(caller), name, { value, purpose: purpose ?? null });
    if (result.kind !== 'set') throw refusal(result);
    const { version, purpose: stored, createdAt, updatedAt } = result.secret;
    return { name, purpose: stored, version, created_at: createdAt.toISOString(), updated_at: updatedAt.toISOString() };
  }

  @Delete(':name')
  @Authorize('secrets:manage')
  @Operation({
    id: 'deleteSecret',
    summary: 'Delete a secret',
    description: 'Refused while something uses it; `detail` names what. Needs the role admin or owner.',
    tag: TAG,
    team: true,
    success: { status: 204, description: 'It is gone.' },
    errors: [400, 403, 404, 409],
  })
  async deleteSecret(@CurrentCaller() caller: Caller, @Param('name', pathId(SECRET_NAME)) name: string): Promise<void> {
    const result = await this.secrets.delete(teamOf(caller), name);
    if (result.kind !== 'removed') throw refusal(result);
  }
}

function teamOf({ teamUid }: Caller): string {
  if (teamUid !== null) return teamUid;
  throw new ProblemError(
    'invalid_request',
    'A team is needed: a user on several teams picks one with the X-Headrace-Team-Uid header.',
  );
}
