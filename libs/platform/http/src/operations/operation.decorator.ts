import { applyDecorators, HttpCode, SetMetadata, type Type } from '@nestjs/common';
import {
  ApiBearerAuth,
  ApiExtraModels,
  ApiHeader,
  ApiOperation,
  ApiResponse,
  ApiTags,
  getSchemaPath,
} from '@nestjs/swagger';
import { ERROR_CODES, type ErrorCode } from '#platform/kernel';
import { Problem, toProblemDocument } from '../problems/problem.dto.js';
import { ProblemError } from '../problems/problem-error.js';

export const OPERATION = Symbol('headrace:operation');
export const BEARER_SCHEME = 'bearerAuth';
export const TEAM_HEADER = 'X-Headrace-Team-Uid';
/** The header of the published client, with the same meaning. */
export const TEAM_HEADER_ALIAS = 'X-Warp-Team-Uid';

export type ErrorStatus = 400 | 403 | 404 | 408 | 409 | 412 | 413 | 415 | 422;
type OpenApiSchema = Extract<Parameters<typeof ApiResponse>[0], { schema: unknown }>['schema'];

const CODE_OF_STATUS: Readonly<Record<ErrorStatus, ErrorCode>> = {
  400: 'invalid_request',
  403: 'not_authorized',
  404: 'resource_not_found',
  408: 'request_timeout',
  409: 'conflict',
  412: 'lease_lost',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  422: 'operation_not_supported',
};

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
  readonly tag: string;
  /** Documents the team header; for the TEAM operations of the specification only. */
  readonly team?: boolean;
  readonly deprecated?: boolean;
  /** Default: bearer. */
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
  /** The body that *Try it out* of Swagger UI sends; required for operations with a body. */
  readonly request?: RequestExample;
  /** Errors of the operation, by status (with its default code) or by code. Shared errors are added. */
  readonly errors: readonly (ErrorStatus | ErrorCode)[];
}

/** Documents an operation and sets its success status. */
export function Operation(options: OperationOptions): MethodDecorator {
  const { success, errors } = options;
  const bearer = options.security !== 'none';
  if (options.request) requestExamples.set(options.id, options.request);
  const codes = [
    ...errors.map((item) => (typeof item === 'number' ? CODE_OF_STATUS[item] : item)),
    ...(bearer ? SHARED_ERRORS : []),
  ];
  return applyDecorators(
    SetMetadata(OPERATION, options),
    HttpCode(success.status),
    ApiTags(options.tag),
    ApiOperation({
      operationId: options.id,
      summary: options.summary,
      description: options.description,
      deprecated: options.deprecated,
    }),
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
    ...successResponse(success),
    ...problemResponses(codes),
  );
}

function successResponse(success: OperationOptions['success']): MethodDecorator[] {
  const { status, description, type, schema, contentType, headers, example } = success;
  const common = {
    status,
    description,
    ...(headers
      ? {
          headers: Object.fromEntries(
            Object.entries(headers).map(([name, text]) => [
              name,
              { description: text, schema: { type: 'string' as const } },
            ]),
          ),
        }
      : {}),
  };
  if (schema === undefined && type !== undefined)
    return [ApiResponse({ ...common, type, ...(example === undefined ? {} : { example }) })];
  if (schema === undefined) return [ApiResponse(common)];
  return [
    ApiResponse({
      ...common,
      content: { [contentType ?? 'application/json']: { schema, ...(example === undefined ? {} : { example }) } },
    }),
  ];
}

function problemResponses(codes: readonly ErrorCode[]): (MethodDecorator & ClassDecorator)[] {
  const byStatus = new Map<number, Set<ErrorCode>>();
  for (const code of codes) {
    const status = ERROR_CODES[code].status ?? 500;
    byStatus.set(status, (byStatus.get(status) ?? new Set()).add(code));
  }
  return [
    ApiExtraModels(Problem),
    ...[...byStatus].map(([status, members]) =>
      ApiResponse({
        status,
        description: [...members].map((code) => `\`${code}\`: ${ERROR_CODES[code].explanation}`).join('\n\n'),
        ...(status === 429 || status === 503
          ? {
              headers: {
                'Retry-After': {
                  description: 'Seconds to wait before the next attempt.',
                  schema: { type: 'integer' as const },
                },
              },
            }
          : {}),
        ...(status === 401
          ? {
              headers: { 'WWW-Authenticate': { description: 'Always `Bearer`.', schema: { type: 'string' as const } } },
            }
          : {}),
        content: {
          'application/problem+json': {
            schema: { $ref: getSchemaPath(Problem) },
            examples: Object.fromEntries([...members].map((code) => [code, { $ref: `#/components/examples/${code}` }])),
          },
        },
      }),
    ),
  ];
}

/** One example per error code that is used; operations refer to them. */
export function problemExamples(
  isUsed: (code: ErrorCode) => boolean,
): Record<string, { summary: string; value: Problem }> {
  const place = { publicUrl: '', instance: '/api/v1/agent/runs', traceId: '4bf92f3577b34da6a3ce929d0e0e4736' };
  const answers = (Object.keys(ERROR_CODES) as ErrorCode[]).filter(isUsed).sort();
  return Object.fromEntries(
    answers.map((code) => [
      code,
      {
        summary: ERROR_CODES[code].title,
        value: toProblemDocument(new ProblemError(code, ERROR_CODES[code].explanation), place),
      },
    ]),
  );
}
