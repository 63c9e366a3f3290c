import { createServer } from 'node:net';
import type { DoctorCheck } from '../doctor-check.js';
import { fail, type Finding, ok } from '../finding.js';
import { isUp } from '../patient.js';

/** The ports of the API and of the ingress are free, or it is Headrace that has them. */
export const portsCheck: DoctorCheck = {
  name: 'ports',
  uses: ['HOST', 'PORT', 'INGRESS_PORT', 'HEADRACE_DATA_DIR'],
  examine: async ({ settings, api }) => {
    const answers = await api.readiness().then(
      ({ isHeadrace }) => isHeadrace,
      () => false,
    );
    const isOurs = answers || isUp(settings.dataDir);
    return Promise.all([
      lookAt(settings.host, settings.port, 'PORT', 'API', isOurs),
      lookAt(settings.host, settings.ingressPort, 'INGRESS_PORT', 'ingress', isOurs),
    ]);
  },
};

async function lookAt(host: string, port: number, setting: string, what: string, isOurs: boolean): Promise<Finding> {
  if (port === 0) return ok(`${setting}: a free one is picked at the start`);
  const place = `${setting} ${port} on ${host}`;
  const code = await tryPort(host, port);
  switch (code) {
    case null:
      return ok(`${place} is free`);
    case 'EADDRINUSE':
      return isOurs
        ? ok(`${place} is taken by the ${what} that runs`)
        : fail(
            `${place} is taken by another process`,
            `Stop that process (\`ss -ltnp 'sport = :${port}'\` names it), or set ${setting} to another port.`,
          );
    case 'EACCES':
      return fail(`${place} may not be used by this user`, `Set ${setting} to a port from 1024 on, behind a proxy.`);
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return fail(
        `HOST ${host} is no address of this machine`,
        'Set HOST to 127.0.0.1, to 0.0.0.0 or to an address of this machine.',
      );
    default:
      return fail(
        `${place} cannot be used (${code})`,
        `Set HOST and ${setting} to an address that can be listened on.`,
      );
  }
}

/** Listens for a moment. Null when that works, else the system's error code. */
function tryPort(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}
