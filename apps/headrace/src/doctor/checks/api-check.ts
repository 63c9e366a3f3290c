import type { DoctorCheck } from '../doctor-check.js';
import { fail, type Finding, ok, skip } from '../finding.js';
import type { Patient } from '../patient.js';
import { reasonOf } from '../reason.js';

/** The API answers. On a machine that is to serve it, one that does not run is no fault. */
export const apiCheck: DoctorCheck = {
  name: 'api',
  uses: ['PORT', 'HOST', 'RUNNER_API_URL'],
  examine: async (patient) => [await look(patient)],
};

async function look({ api, options: { isWorker, origin } }: Patient): Promise<Finding> {
  const { origin: at } = api;
  const isExpected = isWorker || origin !== null;
  try {
    const { status, isHeadrace } = await api.readiness();
    if (!isHeadrace)
      return fail(
        `what answers at ${at} is not Headrace (${status})`,
        'Mend the address, or the proxy in front of the API.',
      );
    if (status === 200) return ok(`${at} is ready`);
    return fail(
      `${at} answers that it is not ready (${status})`,
      `See \`curl ${at}/health/ready\` and the log of the API.`,
    );
  } catch (error) {
    const reason = reasonOf(error);
    if (!isExpected && reason === 'ECONNREFUSED') return skip(`nothing runs at ${at} now`);
    if (isCertificate(error))
      return fail(
        `the certificate of ${at} is not trusted (${reason})`,
        'Name the certificate of its authority with NODE_EXTRA_CA_CERTS.',
      );
    return fail(
      `${at} does not answer (${reason})`,
      isExpected
        ? 'Start the API, let this machine reach it, or mend --url.'
        : 'Look at the log of the API, and at RUNNER_API_URL.',
    );
  }
}

const isCertificate = (error: unknown): boolean =>
  /CERT|SELF_SIGNED|ALTNAME|UNABLE_TO_VERIFY/.test(String((error as { code?: unknown }).code));
