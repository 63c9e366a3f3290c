import type { ServerResponse } from 'node:http';
import type { Logger } from '@nestjs/common';
import { isDatabaseUnavailable, QUERY_CANCELED, sqlState } from '#platform/persistence';
import { writeProblem } from './write-answer.js';

/** A fault of ours, told to a sender that should try again; the log gets what it was. Returns whose it is: the database's, or ours. */
export function writeFault(
  response: ServerResponse,
  publicUrl: string,
  logger: Logger,
  error: unknown,
): 'unavailable' | 'fault' {
  const isUnavailable = isDatabaseUnavailable(error) || sqlState(error) === QUERY_CANCELED;
  if (response.headersSent) {
    response.destroy();
  } else if (isUnavailable) {
    writeProblem(response, publicUrl, 'resource_unavailable', 'The database does not answer at the moment.', {
      'Retry-After': '1',
    });
  } else {
    logger.error(error instanceof Error ? error : String(error));
    writeProblem(response, publicUrl, 'internal_error', 'The request could not be served.');
  }
  return isUnavailable ? 'unavailable' : 'fault';
}
