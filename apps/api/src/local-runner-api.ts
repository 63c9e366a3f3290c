import type { RequestListener } from 'node:http';
import type { Settings } from '#platform/config';
import { API_PREFIX, Listener } from '#platform/http';

/** The runner protocol, and health for those who look for the reason when it cannot be reached. */
const SERVED = [`${API_PREFIX}/runner/`, '/health/'];

/** HTTP on loopback for the runners of this machine, beside an API that speaks HTTPS: see docs/adr/0023. */
export class LocalRunnerApi {
  private constructor(readonly listener: Listener) {}

  /** Rejects when RUNNER_API_PORT is taken. */
  static async open(settings: Settings): Promise<LocalRunnerApi> {
    const listener = await Listener.open(settings, { host: '127.0.0.1', port: settings.runnerApiPort, usesTls: false });
    return new LocalRunnerApi(listener);
  }

  /** Any other path is a 404. */
  serve(handler: RequestListener): void {
    this.listener.serve((request, response) => {
      if (SERVED.some((prefix) => request.url?.startsWith(prefix))) handler(request, response);
      else response.writeHead(404, { Connection: 'close' }).end();
    });
  }
}
