import 'reflect-metadata';
import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { OpenAPIObject } from '@nestjs/swagger';
import { NOTIFICATION_MESSAGES } from '#domain/notifications';
import { parseSettings } from '#platform/config';
import { API_PREFIX, buildDocument, httpAdapter } from '#platform/http';
import { ApiModule } from './app.module.js';

const DESCRIPTION = `Runs of coding agents: create them, follow and steer them, read back what they did.

Every operation takes a bearer token. Every error is a problem document (RFC 9457, \`application/problem+json\`) with a
stable \`error_code\`, whether a retry makes sense (\`retryable\`) and a \`trace_id\`; its \`type\` is a page that explains it.
JSON is at most 64 levels deep; bodies have at most 2 MB, those that create runs 20 MB,\nthose of schedules and automations’ trigger tests and of factory definitions what stands there.`;

const TAGS = [
  {
    name: 'Runs',
    description:
      'One run is what somebody asked an agent to do. It is queued, executed in a prepared workspace, and can be continued.',
  },
  { name: 'Conversations', description: 'What was said and done in a run, in one shape for all agents.' },
  { name: 'Artifacts', description: 'What runs have produced, and what they refer to elsewhere.' },
  { name: 'Approvals', description: 'Questions of an agent that wait for a person.' },
  { name: 'Environments', description: 'How a workspace is prepared before an agent starts in it.' },
  {
    name: 'Agents',
    description: 'Who executes runs and with what: agent identities, MCP servers of the team, models.',
  },
  { name: 'Secrets', description: 'Values that a team has stored for its webhooks, never told again.' },
  {
    name: 'Notifications',
    description:
      'Addresses of a team to which this service reports what becomes of its runs, signed by Standard Webhooks.',
  },
  {
    name: 'Factories',
    description: 'What does one kind of work for a team: found here, given work, and kept as files.',
  },
  {
    name: 'Webhooks',
    description: 'Addresses of a factory that other systems post to, and what they have delivered.',
  },
  { name: 'Schedules', description: 'What starts runs at times that a cron expression names.' },
  { name: 'Automations', description: 'What starts runs of a factory by itself, and with which prompt.' },
];

const PATH_PARAMETERS = {
  uid: 'The UID of the resource: its `uid`.',
  name: 'The name of the resource.',
  index: 'The position of the trigger in the automation, from 0.',
  session_id: 'The session, a UUID: `session_id` of a run.',
  deliveryId: 'The delivery: its `delivery_id`.',
  grantUid: 'The grant: its `uid`.',
  linkUid: 'The link: its `uid`.',
  runId: 'The run: its `run_id`, a UUID.',
  approvalId: 'The permission request: its `approval_id` in the list of the run’s requests.',
  conversation_id: 'The conversation, a UUID: `conversation_id` of its runs.',
  scheduleId: 'The schedule: its `id`.',
  factoryUid: 'The factory: its `uid`.',
  artifactUid: 'The artifact: its `artifact_uid`.',
};

/** The document; its server is a path, so that it holds for every name and address by which the server is reached. */
export const apiDocument = (app: INestApplication): OpenAPIObject =>
  buildDocument(app, {
    serverUrl: API_PREFIX,
    description: DESCRIPTION,
    tags: TAGS,
    pathParameters: PATH_PARAMETERS,
    webhooks: NOTIFICATION_MESSAGES,
  });

/** The text of the committed `openapi.json`. In preview Nest instantiates nothing, so no database is needed. */
export async function renderOpenApi(): Promise<string> {
  const app = await NestFactory.create(ApiModule.of(parseSettings({})), httpAdapter(), {
    preview: true,
    logger: false,
    abortOnError: false,
  });
  return `${JSON.stringify(apiDocument(app), null, 2)}\n`;
}
