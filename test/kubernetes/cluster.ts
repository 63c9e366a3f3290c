import { readFileSync, writeFileSync } from 'node:fs';
import { CoreV1Api, KubeConfig, VersionApi } from '@kubernetes/client-node';
import { parse, stringify } from 'yaml';
import { TcpProxy } from '../worker/tcp-proxy.js';

const LABEL = 'io.headrace.execution';

/** The cluster that KUBECONFIG names, as an administrator sees it. */
export class TestCluster {
  private readonly config = new KubeConfig();
  private readonly api: CoreV1Api;
  readonly namespace: string;

  constructor() {
    this.config.loadFromDefault();
    this.api = this.config.makeApiClient(CoreV1Api);
    this.namespace = process.env.HEADRACE_TEST_KUBERNETES_NAMESPACE ?? 'default';
  }

  async version(): Promise<string> {
    return (await this.config.makeApiClient(VersionApi).getCode()).gitVersion;
  }

  async pods(): Promise<string[]> {
    const { items } = await this.api.listNamespacedPod({ namespace: this.namespace, labelSelector: LABEL });
    return items.map(({ metadata }) => metadata?.name ?? '');
  }

  /** Pods and secrets of executions. */
  async leftovers(): Promise<string[]> {
    const { items } = await this.api.listNamespacedSecret({ namespace: this.namespace, labelSelector: LABEL });
    return [...(await this.pods()), ...items.map(({ metadata }) => metadata?.name ?? '')];
  }

  /** As if its node were lost: the pod is gone without a word of the kubelet. */
  async forceDelete(name: string): Promise<void> {
    await this.api.deleteNamespacedPod({ name, namespace: this.namespace, gracePeriodSeconds: 0 });
  }

  async pod(name: string): Promise<string> {
    return JSON.stringify(await this.api.readNamespacedPod({ name, namespace: this.namespace }));
  }

  /** Writes a kubeconfig file whose server is a proxy that can be interrupted. */
  async startProxy(kubeconfig: string): Promise<TcpProxy> {
    const file = parse(readFileSync(process.env.KUBECONFIG ?? '', 'utf8'));
    const [{ cluster }] = file.clusters;
    const server = new URL(cluster.server);
    const proxy = await TcpProxy.start(Number(server.port || 443), server.hostname);
    cluster['tls-server-name'] ??= server.hostname;
    cluster.server = proxy.origin.replace('http:', 'https:');
    writeFileSync(kubeconfig, stringify(file), { mode: 0o600 });
    return proxy;
  }
}
