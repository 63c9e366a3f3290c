import { KubernetesConnection } from './kubernetes-connection.js';

const RIGHTS: readonly (readonly [resource: string, verbs: readonly string[]])[] = [
  ['pods', ['create', 'get', 'list', 'watch', 'delete']],
  ['secrets', ['create', 'delete']],
];

export interface ClusterAccess {
  readonly address: string;
  readonly namespace: string;
  /** Such as `v1.34.1`. */
  readonly version: string;
  /** What this backend needs and the credentials do not allow, such as `create pods`. */
  readonly missingRights: readonly string[];
}

/** Rejects like {@link KubernetesConnection.load}, and when the API server does not answer. */
export async function clusterAccess(options: {
  readonly kubeconfig: string;
  readonly kubernetesNamespace: string;
}): Promise<ClusterAccess> {
  const connection = await KubernetesConnection.load(options.kubeconfig, options.kubernetesNamespace);
  const { address, namespace } = connection;
  const { gitVersion } = await connection.call<{ gitVersion: string }>({ method: 'GET', path: '/version' });
  const missingRights: string[] = [];
  for (const [resource, verbs] of RIGHTS)
    for (const verb of verbs)
      if (!(await isAllowed(connection, resource, verb))) missingRights.push(`${verb} ${resource}`);
  return { address, namespace, version: gitVersion, missingRights };
}

async function isAllowed(connection: KubernetesConnection, resource: string, verb: string): Promise<boolean> {
  const { status } = await connection.call<{ status: { allowed: boolean } }>({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { namespace: connection.namespace, resource, verb } },
    },
  });
  return status.allowed;
}
