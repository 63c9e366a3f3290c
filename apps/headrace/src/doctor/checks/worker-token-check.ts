import type { DoctorCheck } from '../doctor-check.js';
import { fail, type Finding, ok, skip } from '../finding.js';
import type { Patient } from '../patient.js';

const NEW_TOKEN = 'Make one where Headrace runs: headrace token create --service-account <uid>';

/** The token lets a worker in. Asked without a name, so that no worker connects. */
export const workerTokenCheck: DoctorCheck = {
  name: 'worker token',
  uses: [],
  examine: async (patient) => [await look(patient)],
};

async function look({ api, options: { token, isWorker } }: Patient): Promise<Finding> {
  if (token === null)
    return isWorker
      ? fail('there is none', 'Set HEADRACE_TOKEN, or name a file with --token-file.', NEW_TOKEN)
      : skip('none was given');
  let status: number;
  try {
    status = await api.workerDoor(token);
  } catch {
    return skip('not looked at: the API does not answer');
  }
  switch (status) {
    case 400:
      return ok('the API takes it');
    case 401:
      return fail('the API does not know it (401)', NEW_TOKEN);
    case 403:
      // Other commands take a user's token from the same variable.
      return isWorker
        ? fail('it is not the token of a service account (403)', NEW_TOKEN)
        : skip('the API knows it; a worker would need that of a service account');
    case 404:
      return fail(
        'the API has no door for workers (404)',
        'Bring the API to a version with self-hosted workers, or mend --url.',
      );
    default:
      return fail(
        `the API answers ${status}`,
        'Look at the proxy in front of the API: it has to pass WebSocket upgrades on.',
      );
  }
}
