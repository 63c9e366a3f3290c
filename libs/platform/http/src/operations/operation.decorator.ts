import { applyDecorators, HttpCode, SetMetadata, type Type } from '@nestjs/common';
import { ApiBearerAuth, ApiExtraModels, ApiHeader, ApiOperation, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { ERROR_CODES, type ErrorCode } from '#platform/kernel';
import { Problem, PROBLEM_MEDIA_TYPE, toProblemDocument } from '../problems/problem.dto.js';
import { CODE_OF_STATUS, ProblemError } from '../problems/problem-error.js';

export const OPERATION = Symbol('headrace:operation');
export const BEARER_SCHEME = 'bearerAuth';
export const TEAM_HEADER = 'X-Headrace-Team-Uid';
/** The header of the published client, with the same meaning. */
export const TEAM_HEADER_ALIAS = 'X-Warp-Team-Uid';

export type ErrorStatus = keyof typeof CODE_OF_STATUS;
type OpenApiSchema = Extract<Parameters<typeof ApiResponse>[0], { schema: unknown }>['schema'];

/** Errors of every route with a bearer token; one test over all routes proves them. */
export const SHARED_ERRORS = [
  'authentication_required',
  'rate_limited',
  'internal_error',
  'resource_unavailable',
] as const satisfies readonly ErrorCode[];

export interface RequestExample {
  readonly value: unknown;
  /** Fields of `value` to replace by values of the installation. Without it the body succeeds unchanged. */
  readonly fill?: string;
}

/** Request examples by operationId, for the document. */
export const requestExamples = new Map<string, RequestExample>();

export interface OperationOptions {
  /** operationId: camelCase, unique, from the specification where it has one. */
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  /** Documents the team header; for the TEAM operations of the specification only. */
  readonly team?: boolean;
  readonly deprecated?: boolean;
  /** Default: bearer. `none` for a public route, which has no rate limit by token. */
  readonly security?: 'bearer' | 'none';
  readonly success: {
    readonly status: number;
    readonly description: string;
    readonly type?: Type<unknown> | [Type<unknown>];
    readonly schema?: OpenApiSchema;
    /** Default: application/json. */
    readonly contentType?: string;
    /** Descriptions of response headers by name. */
    readonly headers?: Readonly<Record<string, string>>;
    readonly example?: unknown;
  };
  /** The body that *Try it out* of Swagger UI sends; required for operations with a body, to which it adds 413 and 415. */
  readonly request?: RequestExample;
  /** Errors, by status (with its default code) or by code. Default: 400, 403, 404. Shared errors are added. */
  readonly errors?: readonly (ErrorStatus | ErrorCode)[];
}

export function Operation(options: OperationOptions): MethodDecorator {
  const { id, summary, description, deprecated, success, request, errors = [400, 403, 404] } = options;
  const bearer = options.security !== 'none';
  if (request) requestExamples.set(id, request);
  const codes = [
    ...[...errors, ...(request ? ([413, 415] as const) : [])].map((item) =>
      typeof item === 'number' ? CODE_OF_STATUS[item] : item,
    ),
    ...(bearer ? SHARED_ERRORS : SHARED_ERRORS.filter((code) => code !== 'rate_limited')),
  ];
  return applyDecorators(
    SetMetadata(OPERATION, options),
    HttpCode(success.status),
    ApiOperation({ operationId: id, summary, description, deprecated, ...(bearer ? {} : { security: [] }) }),
    ...(bearer ? [ApiBearerAuth(BEARER_SCHEME)] : []),
    ...(options.team
      ? [
          ApiHeader({
            name: TEAM_HEADER,
            required: false,
            description: `UID of the team to act for; needed by a user of several teams. A service account always acts for its team. \`${TEAM_HEADER_ALIAS}\` is an alias.`,
            schema: { type: 'string', pattern: '^[A-Za-z0-9]{22}$' },
          }),
        ]
      : []),
    successResponse(success),
    ...problemResponses(codes),
  );
}

function successResponse(success: OperationOptions['success']): MethodDecorator {
  const { status, description, type, schema, contentType = 'application/json', headers, example } = success;
  const common = { status, description, ...(headers ? { headers: headerSchemas(headers) } : {}) };
  const examples = example === undefined ? {} : { example };
  if (schema !== undefined) return ApiResponse({ ...common, content: { [contentType]: { schema, ...examples } } });
  return ApiResponse(type === undefined ? common : { ...common, type, ...examples });
}

type HeaderSchema = { description: string; schema: { type: 'string' | 'integer' } };

const headerSchemas = (
  descriptions: Readonly<Record<string, string>>,
  type: HeaderSchema['schema']['type'] = 'string',
): Record<string, HeaderSchema> =>
  Object.fromEntries(
    Object.entries(descriptions).map(([name, description]) => [name, { description, schema: { type } }]),
  );

const RETRY_AFTER = headerSchemas({ 'Retry-After': 'Seconds to wait before the next attempt.' }, 'integer');
const HEADERS_OF_STATUS: Readonly<Record<number, Record<string, HeaderSchema>>> = {
  401: headerSchemas({ 'WWW-Authenticate': 'Always `Bearer`.' }),
  429: RETRY_AFTER,
  503: RETRY_AFTER,
};

function problemResponses(codes: readonly ErrorCode[]): (MethodDecorator & ClassDecorator)[] {
  const byStatus = new Map<number, Set<ErrorCode>>();
  for (const code of codes) {
    const status = ERROR_CODES[code].status ?? 500;
    byStatus.set(status, (byStatus.get(status) ?? new Set()).add(code));
  }
  const responses = [...byStatus].map(([status, members]) => {
    const headers = HEADERS_OF_STATUS[status];
    return ApiResponse({
      status,
      description: [...members].map((code) => `\`${code}\`: ${ERROR_CODES[code].explanation}`).join('\n\n'),
      ...(headers ? { headers } : {}),
      content: {
        [PROBLEM_MEDIA_TYPE]: {
          schema: { $ref: getSchemaPath(Problem) },
          examples: Object.fromEntries([...members].map((code) => [code, { $ref: `#/components/examples/${code}` }])),
        },
      },
    });
  });
  return [ApiExtraModels(Problem), ...responses];
}

/** One example per error code that is used; operations refer to them. */
export function problemExamples(
  isUsed: (code: ErrorCode) => boolean,
): Record<string, { summary: string; value: Problem }> {
  const place = { publicUrl: '', instance: '/api/v1/agent/runs', traceId: '4bf92f3577b34da6a3ce929d0e0e4736' };
  const exampleOf = (code: ErrorCode) => {
    const { title, explanation } = ERROR_CODES[code];
    return { summary: title, value: toProblemDocument(new ProblemError(code, explanation), place) };
  };
  const codes = (Object.keys(ERROR_CODES) as ErrorCode[]).filter(isUsed).sort();
  return Object.fromEntries(codes.map((code) => [code, exampleOf(code)]));
}
