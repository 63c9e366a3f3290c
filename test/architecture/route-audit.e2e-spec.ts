import type { OpenAPIObject } from '@nestjs/swagger';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PERMISSIONS } from '#platform/auth';
import { CompiledRoutes, type Route, RouteTable, SHARED_ERRORS } from '#platform/http';
import { ERROR_CODES } from '#platform/kernel';
import { startTestApi, type TestApi } from '#testing';
import { renderOpenApi } from '../../apps/api/src/openapi.js';

/**
 * Routes that are not in the document, and why. Anybody who adds one says so here.
 * Not controllers, hence not in the route table: `/docs/*` and `/openapi.json`, which Swagger serves.
 */
const UNDOCUMENTED: Readonly<Record<string, string>> = {
  'GET /': 'leads to /console',
  'GET /console': 'the console, which holds no data',
  'GET /console/*path': 'the console, which holds no data',
  'GET /api/v1/sign-in/openid': 'leads the browser to the OpenID provider',
  'GET /api/v1/sign-in/openid/callback': 'where the OpenID provider leads the browser',
  'POST /api/v1/oauth/device_authorization': 'RFC 8628, see docs/adr/0047',
  'GET /decisions/:token': 'pages of signed decisions, which messages link to',
  'POST /decisions/:token': 'pages of signed decisions, which messages link to',
  'POST /api/v1/oauth/token': 'RFC 8628, see docs/adr/0047',
  'GET /api/v1/selfhosted/worker/ws': 'a WebSocket, see docs/workers.md',
  'GET /archives/:runId/:snapshotId': 'signed links, handed out by other operations',
  'GET /environments/assets/:name': 'script and style of the page behind links',
  'GET /environments/shared': 'the page behind links, which holds no data',
  'GET /health': 'for machines',
  'GET /health/live': 'for machines',
  'GET /health/ready': 'for machines',
  'GET /objects/*key': 'signed links, handed out by other operations',
  'GET /problems': 'pages for people',
  'GET /problems/:code': 'pages for people',
  'GET /runs/:runId': 'leads people to the page of the run in the console',
  'PUT /uploads/attachments/:attachmentId': 'signed links, handed out by other operations',
};
/** They make what is not there: an id in the path, and still no 404. */
const MAKES_WHAT_IT_NAMES: readonly string[] = ['putSecret'];
/** Operations for callers who have no token yet. */
const OPEN: readonly string[] = [
  'POST /api/v1/sessions',
  'GET /api/v1/sign-in-options',
  'POST /api/v1/invitations/lookup',
  'POST /api/v1/invitations/accept',
];
/** They only read or start runs, which have their own history. */
const UNRECORDED: readonly string[] = [
  'validateFactoryDefinition',
  'testUnsavedTrigger',
  'testAutomationTrigger',
  'runScheduledAgent',
  'deleteCurrentSession',
];
/** The runner protocol has its own document. */
const RUNNER_PREFIX = '/api/v1/runner/';

let api: TestApi;
let routes: readonly Route[];
let document: OpenAPIObject;

beforeAll(async () => {
  api = await startTestApi();
  routes = api.app.get(RouteTable).routes;
  document = JSON.parse(await renderOpenApi()) as OpenAPIObject;
});
afterAll(() => api.close());

const name = ({ method, path }: Route): string => `${method} ${path}`;
const isDocumented = (route: Route): boolean => !(name(route) in UNDOCUMENTED) && !route.path.startsWith(RUNNER_PREFIX);

/** `/api/v1/agent/runs/:runId` is `/agent/runs/{runId}` in the document. */
const operationOf = (route: Route) => {
  const path = route.path.replace(/^\/api\/v1/, '').replace(/:(\w+)/g, '{$1}');
  const item = document.paths[path] as
    | Record<string, { operationId: string; responses: Record<string, unknown>; security?: object[] }>
    | undefined;
  return item?.[route.method.toLowerCase()];
};

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly allOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

/** Names of the properties without a description, also of schemas within schemas. */
function undescribedProperties(schema: Schema, path: string): string[] {
  const { properties = {}, items, additionalProperties, allOf = [], oneOf = [] } = schema;
  const within = [items, additionalProperties, ...allOf, ...oneOf].filter((one) => typeof one === 'object');
  return [
    ...Object.entries(properties).flatMap(([key, property]) => [
      ...((property.description ?? '') === '' ? [`${path}.${key}`] : []),
      ...undescribedProperties(property, `${path}.${key}`),
    ]),
    ...within.flatMap((one) => undescribedProperties(one, path)),
  ];
}

/** A new verb is added only for an act that none of these names. */
const SUMMARY_VERBS = [
  ...['Create', 'Get', 'List', 'Update', 'Replace', 'Delete', 'Download', 'Export', 'Stream'],
  ...[
    'Apply',
    'Remove',
    'Cancel',
    'Decide',
    'Fork',
    'Interrupt',
    'Pause',
    'Redeem',
    'Redeliver',
    'Register',
    'Resume',
    'Revoke',
    'Rotate',
    'Start',
  ],
  ...['Test', 'Validate'],
];

describe('every route', () => {
  it('finds more than 20 routes', () => {
    expect(routes.length).toBeGreaterThan(20);
  });

  it('is executed without a search through all routes, unless it has a wildcard', () => {
    const compiled = api.app.get(CompiledRoutes);
    const searched = routes.filter((route) => !compiled.isCompiled(route));
    expect(searched.filter(({ path }) => !path.includes('*')).map(name)).toEqual([]);
  });

  it('declares the access of every route', () => {
    expect(routes.filter(({ access }) => access === undefined).map(name)).toEqual([]);
  });

  it('names an existing permission for every route', () => {
    const unknown = routes.filter(
      ({ access }) => access?.kind === 'permission' && !(PERMISSIONS as readonly string[]).includes(access.permission),
    );
    expect(unknown.map(name)).toEqual([]);
  });

  it('requires no read permission for a route that writes', () => {
    const writes = routes.filter(
      ({ method, access }) => method !== 'GET' && access?.kind === 'permission' && access.permission.endsWith(':read'),
    );
    expect(writes.map(name)).toEqual([]);
  });

  it('records every operation that changes what people manage in the audit log', () => {
    const isManaged = ({ method, access, operation }: Route): boolean =>
      method !== 'GET' &&
      access?.kind === 'permission' &&
      /:(manage|redeem)$|^(environments|schedules):write$/.test(access.permission) &&
      !UNRECORDED.includes(operation?.id ?? '');
    expect(
      routes
        .filter(isManaged)
        .filter(({ auditedAction }) => auditedAction === undefined)
        .map(name),
    ).toEqual([]);
    const unchanged = routes.filter(({ method, auditedAction }) => method === 'GET' && auditedAction !== undefined);
    expect(unchanged.map(name)).toEqual([]);
  });

  it('names the actions of the audit log as a resource and a verb in the past tense', () => {
    const actions = routes.flatMap(({ auditedAction }) => (auditedAction === undefined ? [] : [auditedAction]));
    expect(actions.filter((action) => !/^[a-z_]+\.([a-z]+_)?[a-z]+ed$/.test(action))).toEqual([]);
    expect(actions.length).toBe(new Set(actions).size);
  });

  it('summarizes every route as a verb and a resource', () => {
    const summaries = routes.flatMap(({ operation }) => (operation ? [operation.summary] : []));
    const verbs = SUMMARY_VERBS.join('|');
    const pattern = new RegExp(
      `^(?:${verbs})(?: or (?:${verbs.toLowerCase()}))? [a-zA-Z][\\w -]+(?: \\(deprecated\\))?$`,
    );
    expect(summaries.filter((summary) => !pattern.test(summary))).toEqual([]);
  });

  it('is open without a token only where that is listed', () => {
    expect(
      routes
        .filter(({ access }) => access?.kind === 'public')
        .filter(isDocumented)
        .map(name),
    ).toEqual(OPEN);
  });

  it('belongs to the runner protocol if it says so, and nothing else does', () => {
    const mistaken = routes.filter(
      (route) => (route.access?.kind === 'runner') !== route.path.startsWith(RUNNER_PREFIX),
    );
    expect(mistaken.map(name)).toEqual([]);
  });

  it('is in the document under its operation id, or in the list of those that are not', () => {
    const missing = routes.filter(
      (route) => isDocumented(route) && (!route.operation || operationOf(route)?.operationId !== route.operation.id),
    );
    expect(missing.map(name)).toEqual([]);
    const stale = Object.keys(UNDOCUMENTED).filter((line) => !routes.some((route) => name(route) === line));
    expect(stale).toEqual([]);
  });

  it('gives every route a unique operation id', () => {
    const ids = routes.flatMap(({ operation }) => (operation ? [operation.id] : []));
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    expect(ids.filter((id) => !/^[a-z][A-Za-z]+$/.test(id))).toEqual([]);
  });

  it('documents its success, its own errors and the shared ones, and asks for the bearer token', () => {
    const faults = routes.filter(isDocumented).flatMap((route) => {
      const operation = operationOf(route);
      const documented = Object.keys(operation?.responses ?? {});
      const isOpen = OPEN.includes(name(route));
      const shared = SHARED_ERRORS.filter((code) => !isOpen || code !== 'rate_limited').map((code) =>
        String(ERROR_CODES[code].status),
      );
      const wanted = [String(route.operation?.success.status), ...shared];
      const missing = wanted.filter((status) => !documented.includes(status));
      const secured = (operation?.security ?? []).some((scheme) => 'bearerAuth' in scheme);
      return missing.length > 0 || secured === isOpen
        ? [`${name(route)}: lacks ${missing.join(', ')}${secured ? '' : ' bearerAuth'}`]
        : [];
    });
    expect(faults).toEqual([]);
  });

  it('that takes a body documents 400, 413 and 415; that takes an id documents 400, 403 and 404', () => {
    const faults = routes.filter(isDocumented).flatMap((route) => {
      const operation = operationOf(route);
      const documented = Object.keys(operation?.responses ?? {});
      const wanted = [
        ...('requestBody' in (operation ?? {}) ? ['400', '413', '415'] : []),
        ...(route.path.includes(':') ? ['400', '403'] : []),
        ...(route.path.includes(':') && !MAKES_WHAT_IT_NAMES.includes(route.operation?.id ?? '') ? ['404'] : []),
      ];
      const missing = wanted.filter((status) => !documented.includes(status));
      return missing.length > 0 ? [`${name(route)}: lacks ${missing.join(', ')}`] : [];
    });
    expect(faults).toEqual([]);
  });
});

describe('the document', () => {
  it('documents only operations that a route serves', () => {
    const served = new Set(
      routes
        .filter(isDocumented)
        .map(
          (route) => `${route.method.toLowerCase()} ${route.path.replace(/^\/api\/v1/, '').replace(/:(\w+)/g, '{$1}')}`,
        ),
    );
    const documented = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method} ${path}`),
    );
    expect(documented.filter((line) => !served.has(line))).toEqual([]);
  });

  it('describes every tag of the document, and no other tag', () => {
    const explained = new Set((document.tags ?? []).map((tag) => tag.name));
    const used = new Set(
      Object.values(document.paths).flatMap((item) =>
        Object.values(item as Record<string, { tags?: string[] }>).flatMap(({ tags }) => tags ?? []),
      ),
    );
    expect([...used].filter((tag) => !explained.has(tag))).toEqual([]);
    expect([...explained].filter((tag) => !used.has(tag))).toEqual([]);
  });

  it('resolves every reference in the document', () => {
    const text = JSON.stringify(document);
    const schemas = document.components?.schemas ?? {};
    const broken = [...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)]
      .map((match) => match[1] ?? '')
      .filter((schema) => !(schema in schemas));
    expect([...new Set(broken)]).toEqual([]);
  });

  it('shows an example of every error that it documents', () => {
    const faults = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(
        item as Record<string, { responses: Record<string, { content?: Record<string, { examples?: object }> }> }>,
      ).flatMap(([method, operation]) =>
        Object.entries(operation.responses).flatMap(([status, response]) =>
          Number(status) >= 400 &&
          Object.keys(response.content?.['application/problem+json']?.examples ?? {}).length === 0
            ? [`${method} ${path} ${status}`]
            : [],
        ),
      ),
    );
    expect(faults).toEqual([]);
  });

  it('carries the team header on the operations that the specification marks, and on no others but ours', () => {
    const withHeader = Object.values(document.paths).flatMap((item) =>
      Object.values(item as Record<string, { operationId: string; parameters?: { name: string; in: string }[] }>)
        .filter(({ parameters }) =>
          parameters?.some((parameter) => parameter.in === 'header' && parameter.name === 'X-Headrace-Team-Uid'),
        )
        .map(({ operationId }) => operationId),
    );
    const specified = [
      'listAgents',
      'listConnectedSelfHostedWorkers',
      'createRun',
      'runAgent',
      'listRuns',
      'createScheduledAgent',
      'listScheduledAgents',
      'listEnvironments',
    ];
    const beyond = [
      'listApprovals',
      'registerExternalRun',
      'createAgentIdentity',
      'createMcpServer',
      'createNotificationWebhook',
      'putSecret',
      'listSecrets',
      'deleteSecret',
      'listAgentIdentities',
      'listMcpServers',
      'listModels',
      'listHarnesses',
      'listNotificationWebhooks',
      'createEnvironment',
      'listFactories',
      'listMembers',
      'putMember',
      'deleteMember',
      'createFactory',
      'listInvitations',
      'createInvitation',
      'revokeInvitation',
      'listServiceAccounts',
      'createServiceAccount',
      'listAuditLog',
      'exportAuditLog',
    ];
    const served = new Set(routes.flatMap(({ operation }) => (operation ? [operation.id] : [])));
    expect(withHeader.sort()).toEqual([...specified, ...beyond].filter((id) => served.has(id)).sort());
  });

  it('describes every property and every parameter', () => {
    const undescribed = Object.entries((document.components?.schemas ?? {}) as Record<string, Schema>).flatMap(
      ([schema, value]) => undescribedProperties(value, schema),
    );
    const parameters = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item as Record<string, { parameters?: { name: string; description?: string }[] }>).flatMap(
        ([method, operation]) =>
          (operation.parameters ?? [])
            .filter(({ description }) => description === undefined)
            .map((parameter) => `${method} ${path} ${parameter.name}`),
      ),
    );
    expect([...undescribed, ...parameters]).toEqual([]);
  });

  it('has no error by the recommended rules of Redocly', async () => {
    const config = await createConfig({ extends: ['recommended'] });
    const problems = await lintFromString({ source: JSON.stringify(document), config });
    expect(problems.filter(({ severity }) => severity === 'error').map(({ message }) => message)).toEqual([]);
  });

  it('lists deprecated operations last', () => {
    expect(Object.keys(document.paths).at(-1)).toBe('/agent/run');
  });

  it('marks runAgent as deprecated, and nothing else', () => {
    const deprecated = Object.values(document.paths).flatMap((item) =>
      Object.values(item as Record<string, { operationId: string; deprecated?: boolean }>).flatMap((operation) =>
        operation.deprecated ? [operation.operationId] : [],
      ),
    );
    expect(deprecated).toEqual(['runAgent']);
  });

  it('is what the running service serves, but for the address', async () => {
    const { body } = await api.atOrigin(200, 'GET /openapi.json');
    expect(body).toEqual(document);
  });
});
