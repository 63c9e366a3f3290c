import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import type { Response } from 'express';
import { Settings } from '#platform/config';
import { IngressMetrics } from './ingress-metrics.js';
import { writeFault, writeProblem } from './write-answer.js';

const NO_ROUTE = 'No route matches this path. The ingress accepts deliveries at /webhooks/w/<uid>.';

/** Problem documents for requests that are not deliveries. */
@Catch()
export class IngressFilter implements ExceptionFilter {
  private readonly logger = new Logger(IngressFilter.name);

  constructor(
    private readonly settings: Settings,
    private readonly metrics: IngressMetrics,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<Response>();
    const { publicUrl } = this.settings;
    if (error instanceof HttpException && error.getStatus() === 404) {
      writeProblem(response, publicUrl, 'resource_not_found', `${NO_ROUTE} The API is at ${publicUrl}/api/v1.`);
    } else if (isClientError(error)) {
      writeProblem(response, publicUrl, 'invalid_request', 'The request cannot be parsed.');
    } else {
      this.metrics.results.add(writeFault(response, publicUrl, this.logger, error));
    }
  }
}

/** Express throws plain errors with a status, for example for a path that cannot be decoded. */
function isClientError(error: unknown): boolean {
  const status = error instanceof HttpException ? error.getStatus() : (error as { status?: unknown } | null)?.status;
  return typeof status === 'number' && status >= 400 && status < 500;
}
