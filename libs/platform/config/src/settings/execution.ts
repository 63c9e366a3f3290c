import { availableParallelism } from 'node:os';
import {
  boolean,
  containerNetwork,
  decimal,
  duration,
  engineAddress,
  integer,
  literal,
  machineDependent,
  optionalFile,
  optionalInteger,
  optionalPath,
  text,
  settingGroup,
} from '../setting-kinds.js';

const defaultSlots = Math.max(2, availableParallelism() * 2);
const MIB = 1_048_576;

export const EXECUTION_SETTINGS = {
  ...settingGroup('Execution', ['API', 'processor'], {
    maxConcurrentRuns: machineDependent(integer(defaultSlots, 1, 100_000)).describe(
      'Maximum number of hosted runs that execute concurrently, over all teams. Default: twice the number of processors.',
    ),
    maxConcurrentRunsPerTeam: optionalInteger(1, 100_000).describe(
      'Maximum number of hosted runs of one team (or of one user, for personal runs) that execute concurrently, unless `headrace team update --max-concurrent-runs` sets another limit for the team. Default: half of MAX_CONCURRENT_RUNS, rounded up, so that one owner never holds all slots.',
    ),
    defaultMaxRuntime: duration('24h', '0s', '31d').describe(
      'Working time after which a hosted run without `max_runtime_minutes` is ended as FAILED with budget_exceeded, so that an agent that hangs releases its slot; 0s sets no limit.',
    ),
    maxIdleSessions: machineDependent(integer(defaultSlots, 0, 100_000)).describe(
      'Maximum number of sessions that stay open after their turn or in a debug window; the longest idle session above it is closed, and a later follow-up resumes it from its transcript. Default: twice the number of processors.',
    ),
    leaseTtl: duration('90s', '1s', '10min').describe(
      'A runner that cannot renew its lease for this long stops its agent; the run is given up after another third of it.',
    ),
    computeCostPerHour: decimal(0, 0, 1_000_000).describe(
      'US dollars per hour of run time of hosted runs: `compute_cost_usd` of `request_usage`. 0 omits it.',
    ),
    selfHostedCancel: boolean(false).describe(
      'Allows clients to cancel runs on self-hosted workers. Without it such a cancel gets a 422.',
    ),
    claimDeadline: duration('15s', '1s', '10min').describe(
      'How long an offered run waits for its runner before it is requeued; up to 5 minutes while the executor sees that the runner is alive.',
    ),
    placementPoll: duration('250ms', '50ms', '1min').describe(
      'Interval at which the queue is checked; the fallback when no wake-up arrives.',
    ),
    approvalTimeout: duration('30min', '1s', '7d').describe(
      'How long a permission request or a question waits for a person before it is denied.',
    ),
    cancelEscalationDelay: duration('2s', '100ms', '1min').describe(
      'Time between the steps that stop a cancelled run: cancel request to the agent, SIGTERM, SIGKILL.',
    ),
    interruptTimeout: duration('30s', '1s', '10min').describe(
      'How long an agent has to end its turn after an interrupt. One that does not is stopped, and its run FAILED.',
    ),
    agentProgressTimeout: duration('30min', '1s', '1d').describe(
      'A run fails when its agent reports no progress in a turn for this long, while no tool call and no permission request is open.',
    ),
    setupCommandTimeout: duration('10min', '1s', '6h').describe('Maximum duration of one set-up command.'),
    maxRunDepth: integer(5, 1, 32).describe('Maximum number of ancestors of a run (the chain of parent_run_id).'),
    maxChildRuns: integer(20, 0, 10_000).describe(
      'Maximum number of runs that the agent of one run starts with the tool `start_run`; 0: agents have no such tool.',
    ),
    maxActiveChildRuns: integer(10, 1, 10_000).describe(
      'Maximum number of runs that the agent of one run has started and that have not ended.',
    ),
    maxDescendantRuns: integer(100, 1, 100_000).describe(
      'Maximum number of runs below one run that has no parent, over all levels, that agents start.',
    ),
    maxWorkspaceBytes: integer(10 * 1024 * MIB, MIB, Number.MAX_SAFE_INTEGER).describe(
      'Maximum size of a workspace on disk, in bytes; measured periodically.',
    ),
    maxOutputBytes: integer(64 * MIB, 65_536, 1024 * MIB).describe(
      'Maximum size of the events of one execution, in bytes; further events are omitted from the conversation. The server enforces it with a margin of a quarter.',
    ),
    maxArtifactBytes: integer(64 * MIB, 1024, 5 * 1024 * MIB).describe(
      'Maximum size of one file or screenshot that an agent reports as an artifact, in bytes.',
    ),
    agentMaxProcesses: integer(4096, 64, 1_000_000).describe(
      'Maximum number of processes and threads of one execution with the process executor; only as root, with prlimit of util-linux.',
    ),
    snapshotInterval: duration('5min', '0s', '1d').describe(
      'Interval of the snapshots of the workspace during a turn, beside the one at the end of each turn; 0s: none during a turn.',
    ),
    maxSnapshotBytes: integer(2 * 1024 * MIB, 0, Number.MAX_SAFE_INTEGER).describe(
      'Maximum size of the files in a snapshot of a workspace, in bytes. A larger workspace is not stored, and the timeline says so. 0: no snapshots.',
    ),
    maxSnapshotFiles: integer(200_000, 1, 1_000_000).describe(
      'Maximum number of files, directories and links in a snapshot of a workspace.',
    ),
    maxRunArtifactBytes: integer(1024 * MIB, 1024, 1024 * 1024 * MIB).describe(
      'Maximum size of all files, screenshots and plans that the agents of one run report as artifacts, in bytes.',
      'MAX_ARTIFACT_BYTES_PER_RUN',
    ),
    workspacesDir: optionalPath().describe(
      'Directory of the workspaces. Default: under HEADRACE_DATA_DIR, or under /var/tmp when the server runs as root and other users cannot access the data directory.',
    ),
    agentUidBase: integer(0, 0, 2_000_000_000).describe(
      'As root, each execution runs under its own numeric user id, counted from here; 0 derives a range from SECRETS_KEY.',
    ),
    agentUidCount: integer(50_000, 1, 1_000_000).describe('Number of numeric user ids that are used in rotation.'),
    warmRunners: integer(1, 0, 64).describe(
      'Number of runners of the process executor that wait for the next run, so that runs start sooner: started before there is one, or left by an earlier run. 0: every run starts a runner. Each that waits uses about 60 MB of memory.',
    ),
    executor: text('process').describe(
      'Where hosted runs execute: process (on this machine), docker (each in a container of the image of its environment), kubernetes (each in a pod), or an executor that a package adds.',
    ),
  }),
  ...settingGroup('Self-hosted workers', ['API', 'processor'], {
    workerHeartbeatTimeout: duration('90s', '1s', '10min').describe(
      'A worker connection without a heartbeat for this long is closed. The server sends a ping every third of it and records the connected workers every ninth of it.',
    ),
    workerReconnectTimeout: duration('75s', '0s', '1h').describe(
      'After an outage of all API processes, how long workers have to reconnect before the runs that they execute are given up. The published daemon waits up to 60 s between attempts.',
    ),
    workerAdoptionTimeout: duration('5min', '0s', '7d').describe(
      'How long a run whose runner has not called is kept after its worker, which does not report its tasks, has reconnected. See docs/self-hosted-runs.md.',
    ),
    workerSidecarImage: text('').describe(
      'Image whose files the docker and kubernetes backends of the published daemon mount at /agent; it has to contain /entrypoint.sh. Sent to workers that report no slots. Default: none.',
    ),
    workerMaxConnections: integer(10_000, 1, 1_000_000).describe(
      'Maximum number of worker connections of one API process; further ones get a 503. The limit of open files of the process must allow as many.',
    ),
    workerMaxTeamConnections: integer(5_000, 1, 1_000_000).describe(
      'Maximum number of worker connections of one team in one API process; further ones get a 429.',
    ),
  }),
  ...settingGroup('Docker executor', ['processor'], {
    dockerHost: engineAddress('unix:///var/run/docker.sock').describe(
      'Address of the Docker Engine; see docs/operations/docker-executor.md.',
    ),
    dockerCertPath: optionalPath().describe(
      'Directory with ca.pem, cert.pem and key.pem: TLS with a client certificate, for tcp://.',
    ),
    dockerDefaultImage: text('node:22-bookworm').describe(
      'Image of runs without an environment, or whose environment names no image. Images need glibc and libstdc++.',
    ),
    dockerPull: literal('missing', ['missing', 'always', 'never']).describe(
      'When an image is pulled: if the engine does not have it, before every execution, or never.',
    ),
    dockerPullTimeout: duration('10min', '1s', '6h').describe('Maximum duration of one pull.'),
    dockerAuthFile: optionalFile().describe(
      'Credentials of registries, in the format of docker login (config.json with auths). Read before every pull.',
    ),
    dockerMemoryBytes: integer(4096 * MIB, 256 * MIB, Number.MAX_SAFE_INTEGER).describe(
      'Memory of one execution, in bytes, without swap.',
    ),
    dockerCpus: decimal(2, 0.1, 4096).describe(
      'Number of processors of one execution, at most those of the machine of the engine.',
    ),
    dockerPids: integer(1024, 64, 4_194_304).describe('Maximum number of processes and threads of one execution.'),
    dockerDiskBytes: integer(0, 0, Number.MAX_SAFE_INTEGER).describe(
      'Bytes that a container may write, for storage drivers that support a limit; 0 sets no limit except MAX_WORKSPACE_BYTES.',
    ),
    dockerNetwork: containerNetwork('bridge').describe(
      'Network of the containers: bridge, or the name of a user-defined network, for example one that reaches only the API and a proxy. Never none or host.',
    ),
    dockerUser: text('').describe(
      'User, or user:group, of runner and agent in the container. Default: the user of the image.',
    ),
    dockerRuntime: text('').describe(
      'OCI runtime of the containers, which the engine must know, such as runsc (gVisor) or kata-runtime. Default: the one of the engine.',
    ),
    dockerRunnerSource: text('').describe(
      'Directory or volume on the machine of the engine with bin/node, dist, node_modules and package.json of this version. Default: the files of the processor, for an engine on the same machine.',
    ),
  }),
  ...settingGroup('Kubernetes executor', ['processor'], {
    kubeconfig: text('').describe(
      'Kubeconfig file. Default: ~/.kube/config, or in a pod its service account; see docs/operations/kubernetes.md.',
    ),
    kubernetesNamespace: text('').describe(
      'Namespace of the pods of runs. Default: that of the kubeconfig context, or of the pod of the processor.',
    ),
    kubernetesDefaultImage: text('node:22-bookworm').describe(
      'Image of runs without an environment, or whose environment names no image. Images need glibc and libstdc++.',
    ),
    kubernetesRunnerImage: text('').describe(
      'Image with this version of Headrace in /opt/headrace, from which every pod gets its runner. Required.',
    ),
    kubernetesCpus: decimal(2, 0.1, 4096).describe('Number of processors of one execution.'),
    kubernetesMemoryBytes: integer(4096 * MIB, 256 * MIB, Number.MAX_SAFE_INTEGER).describe(
      'Memory of one execution, in bytes.',
    ),
    kubernetesDiskBytes: integer(0, 0, Number.MAX_SAFE_INTEGER).describe(
      'Bytes that a pod may write; 0 sets no limit except MAX_WORKSPACE_BYTES.',
    ),
    kubernetesPodTemplate: text('').describe(
      'YAML or JSON file with fields that every pod gets, such as nodeSelector and tolerations; see docs/operations/kubernetes.md.',
    ),
    kubernetesStartTimeout: duration('10min', '1s', '6h').describe(
      'How long a pod may wait for a node and its images before its run is requeued.',
    ),
  }),
} as const;
