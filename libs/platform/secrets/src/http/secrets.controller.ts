import { Body, Controller, Delete, Get, Param, type PipeTransform, Put } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Audited, Authorize, type Caller, CurrentCaller, teamOf } from '#platform/auth';
import { invalidInput, limitReached, notFound, Operation, pathId, ProblemError } from '#platform/http';
import { type DeleteSecretResult, ManagedSecrets, type PutSecretResult } from '../application/managed-secrets.js';
import { SECRET_NAME, SECRET_NAME_RULE, type SecretRecord } from '../domain/managed-secret.js';
import { ListSecretsResponse, PutSecretRequest, type SecretItem, SecretVersion } from './secret.dto.js';

/** The path names what the request creates, so a name that breaks the rule is a 400 and not a 404. */
const newSecretName: PipeTransform<string, string> = {
  transform(name) {
    if (SECRET_NAME.test(name)) return name;
    const detail = `must be ${SECRET_NAME_RULE}`;
    throw new ProblemError('invalid_request', `The path parameter \`name\` ${detail}.`, {
      errors: [{ pointer: '/name', detail }],
    });
  },
};

@ApiTags('Secrets')
@Controller('secrets')
export class SecretsController {
  constructor(private readonly secrets: ManagedSecrets) {}

  @Get()
  @Authorize('secrets:manage')
  @Operation({
    id: 'listSecrets',
    summary: 'List secrets',
    description: 'Names and dates of the managed secrets of the team, sorted by name. Values are never returned.',
    team: true,
    success: { status: 200, description: 'The managed secrets of the team.', type: ListSecretsResponse },
    errors: [400, 403],
  })
  async listSecrets(@CurrentCaller() caller: Caller): Promise<ListSecretsResponse> {
    return { secrets: (await this.secrets.list(teamOf(caller))).map(presentSecret) };
  }

  @Put(':name')
  @Authorize('secrets:manage')
  @Audited('secret.updated', { values: ['purpose'] })
  @Operation({
    id: 'putSecret',
    summary: 'Create or update a secret',
    description:
      'The value is encrypted at rest and never returned. Webhooks that use the secret use the new value at once, unless a factory definition manages them. A team can have at most 1,000 secrets.',
    team: true,
    request: { value: { value: 'replace-this-value' } },
    success: { status: 200, description: 'The created or updated secret, without its value.', type: SecretVersion },
    errors: [400, 403, 'limit_reached', 409],
  })
  async putSecret(
    @CurrentCaller() caller: Caller,
    @Param('name', newSecretName) name: string,
    @Body() { value, purpose }: PutSecretRequest,
  ): Promise<SecretVersion> {
    const result = await this.secrets.putOfTeam(teamOf(caller), name, { value, purpose: purpose ?? null });
    if (result.kind !== 'stored') throw problemOf(result);
    return { ...presentSecret(result.secret), version: result.secret.version };
  }

  @Delete(':name')
  @Authorize('secrets:manage')
  @Audited('secret.deleted')
  @Operation({
    id: 'deleteSecret',
    summary: 'Delete a secret',
    description: 'A secret that is in use cannot be deleted; `detail` names its users.',
    team: true,
    success: { status: 204, description: 'Deleted.' },
    errors: [400, 403, 404, 409],
  })
  async deleteSecret(@CurrentCaller() caller: Caller, @Param('name', pathId(SECRET_NAME)) name: string): Promise<void> {
    const result = await this.secrets.deleteOfTeam(teamOf(caller), name);
    if (result.kind !== 'deleted') throw problemOf(result);
  }
}

const presentSecret = ({ name, purpose, createdAt, updatedAt }: SecretRecord): SecretItem => ({
  name,
  purpose,
  created_at: createdAt.toISOString(),
  updated_at: updatedAt.toISOString(),
});

type Failure = Exclude<PutSecretResult, { kind: 'stored' }> | Exclude<DeleteSecretResult, { kind: 'deleted' }>;

function problemOf(failure: Failure): ProblemError {
  switch (failure.kind) {
    case 'not_found':
      return notFound('Secret');
    case 'limit_reached':
      return limitReached('A team', failure.limit, 'secrets');
    case 'invalid_value':
      return invalidInput([{ pointer: '/value', detail: failure.reason }]);
    case 'reserved_name':
      return invalidInput([
        {
          pointer: '/purpose',
          detail: 'must be `webhook`: names that begin with `webhook-` are reserved for webhooks',
        },
      ]);
    case 'in_use':
      return new ProblemError('conflict', `The secret is in use by ${failure.by.join(', ')}.`);
  }
}
