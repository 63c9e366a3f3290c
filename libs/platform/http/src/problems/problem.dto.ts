import { STATUS_CODES } from 'node:http';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { ERROR_CODES, type ErrorCode } from '#platform/kernel';
import type { ProblemError } from './problem-error.js';

export class ProblemIssue {
  @ApiProperty({
    description: 'JSON pointer (RFC 6901) to the field, or `/name` of a query parameter.',
    example: '/config/environment_id',
  })
  pointer: string;

  @ApiProperty({ description: 'The violated rule.' })
  detail: string;
}

export class ProblemDiagnostic {
  @ApiProperty({ description: 'Stable code of the diagnostic.', example: 'unknown_key' })
  code: string;

  @ApiProperty({ description: 'Path of the file.', example: 'webhooks/ci.yaml' })
  path: string;

  @ApiProperty({ type: 'integer', minimum: 1, description: 'Line of the file, from 1.' })
  line: number;

  @ApiProperty({ type: 'integer', minimum: 1, description: 'Column of the line, from 1.' })
  column: number;

  @ApiProperty({ description: 'Text for people.' })
  message: string;
}

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';
const MAX_INSTANCE = 2048;

/** RFC 9457 document; media type `application/problem+json`. */
export class Problem {
  @ApiProperty({ format: 'uri-reference', description: 'A page that explains the code.' })
  type: string;

  @ApiProperty({ description: 'Title of the error code.' })
  title: string;

  @ApiProperty({ type: 'integer', description: 'HTTP status of the response.' })
  status: number;

  @ApiPropertyOptional({ description: 'What failed in this request, with the field and its rule.' })
  detail?: string;

  @ApiProperty({ description: 'Path of the request.' })
  instance: string;

  @ApiProperty({ enum: Object.keys(ERROR_CODES), enumName: 'ErrorCode', description: 'Stable code of the error.' })
  error_code: ErrorCode;

  @ApiProperty({ description: 'Whether sending the same request again later may succeed.' })
  retryable: boolean;

  @ApiProperty({ description: 'Title and detail in one line.' })
  error: string;

  @ApiProperty({
    description: 'Identifies the request in the logs of the server; also in the header `X-Trace-Id`.',
    pattern: '^[0-9a-f]{32}$',
  })
  trace_id: string;

  @ApiPropertyOptional({ type: [ProblemIssue], description: 'Validation: one entry per failing field.' })
  errors?: ProblemIssue[];

  @ApiPropertyOptional({
    type: [ProblemDiagnostic],
    description: 'One entry per error of a definition that cannot be applied, with its position in the files.',
  })
  diagnostics?: ProblemDiagnostic[];
}

export interface ProblemPlace {
  readonly publicUrl: string;
  readonly instance: string;
  readonly traceId: string;
}

export function toProblemDocument(problem: ProblemError, { publicUrl, instance, traceId }: ProblemPlace): Problem {
  const { title, retryable } = ERROR_CODES[problem.code];
  return {
    ...problem.options.members,
    type: `${publicUrl}/problems/${problem.code}`,
    title,
    status: problem.status,
    detail: problem.detail,
    instance: instance.slice(0, MAX_INSTANCE),
    error_code: problem.code,
    retryable,
    error: `${title}: ${problem.detail}`,
    trace_id: traceId,
    ...(problem.options.errors && problem.options.errors.length > 0
      ? { errors: problem.options.errors.map(({ pointer, detail }) => ({ pointer, detail })) }
      : {}),
  };
}

export function problemHeaders({ status, options }: ProblemError): Record<string, string> {
  const { headers = {}, retryAfterSeconds } = options;
  return {
    'Content-Type': PROBLEM_MEDIA_TYPE,
    ...headers,
    ...(retryAfterSeconds === undefined ? {} : { 'Retry-After': String(Math.max(1, Math.ceil(retryAfterSeconds))) }),
    ...(status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}),
  };
}

/** A complete HTTP response for a socket that is closed afterwards. `hidesTrace` omits `instance` and `trace_id`. */
export function rawProblem(problem: ProblemError, place: ProblemPlace, hidesTrace = false): string {
  const document = toProblemDocument(problem, place);
  const body = JSON.stringify(hidesTrace ? { ...document, instance: undefined, trace_id: undefined } : document);
  const headers = {
    ...problemHeaders(problem),
    'Content-Length': Buffer.byteLength(body),
    ...(hidesTrace ? {} : { 'X-Trace-Id': place.traceId }),
    Connection: 'close',
  };
  return [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? 'Error'}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '',
    body,
  ].join('\r\n');
}
