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
JSON is at most 64 levels deep; bodies have at most 2 MB, those that create runs 20 MB,\nthose of schedules and automations’ trigger tests and of factory definitions as documented there.`;

const TAGS = [
  {
    name: 'Runs',
    description: 'A run is a task for an agent. It is queued, executed in a prepared workspace, and can be continued.',
  },
  { name: 'Conversations', description: 'Messages and actions of a run, in one format for all agents.' },
  { name: 'Artifacts', description: 'Files that runs have produced, and references to external results.' },
  { name: 'Approvals', description: 'Permission requests of agents that wait for a decision.' },
  { name: 'Environments', description: 'How a workspace is prepared before an agent starts in it.' },
  {
    name: 'Agents',
    description: 'Agent identities, MCP servers of the team, models, harnesses and workers.',
  },
  { name: 'Secrets', description: 'Values that a team has stored for its webhooks, which are never returned.' },
  {
    name: 'Notifications',
    description: 'Addresses that receive events of the runs of a team, signed as Standard Webhooks.',
  },
  {
    name: 'Factories',
    description: 'Groups of agents, webhooks and automations for one kind of work, defined by files.',
  },
  {
    name: 'Webhooks',
    description: 'Addresses of a factory to which other systems send events, and their deliveries.',
  },
  { name: 'Schedules', description: 'Start runs at the times of a cron expression.' },
  { name: 'Automations', description: 'Start runs of a factory when an event matches a trigger.' },
  { name: 'Administration', description: 'Teams, members, users, service accounts, tokens, and the audit log.' },
];

const PATH_PARAMETERS = {
  document: 'Name of the schema, such as `factory.schema.json`.',
  uid: 'The UID of the resource: its `uid`.',
  name: 'The name of the resource.',
  index: 'The position of the trigger in the automation, from 0.',
  session_id: 'The session, a UUID: `session_id` of a run.',
  deliveryId: 'The delivery: its `delivery_id`.',
  grantUid: 'The grant: its `uid`.',
  linkUid: 'The link: its `uid`.',
  runId: 'The run: its `run_id`, a UUID.',
  userUid: 'The user: its `uid`.',
  approvalId: 'The permission request: its `approval_id` in the list of the run’s requests.',
  conversation_id: 'The conversation, a UUID: `conversation_id` of its runs.',
  scheduleId: 'The schedule: its `id`.',
  factoryUid: 'The factory: its `uid`.',
  artifactUid: 'The artifact: its `artifact_uid`.',
  userCode: 'The code that the program shows, such as `WDJB-MJHT`.',
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
