import { Logger } from '@nestjs/common';
import type { HostLog } from '#execution/backends';

/** A log of this process for code that knows no framework. */
export function nestLog(name: string): HostLog {
  const logger = new Logger(name);
  return {
    debug: (message, fields = {}) => logger.debug(message, fields),
    info: (message, fields = {}) => logger.log(message, fields),
    warn: (message, fields = {}) => logger.warn(message, fields),
    error: (message, fields = {}) => logger.error(message, fields),
  };
}
