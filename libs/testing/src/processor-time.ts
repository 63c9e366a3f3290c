/**
 * Processor time that this process spends on `work`, in milliseconds: what else the machine does meanwhile is not in it,
 * so limits on it hold on a loaded machine too. For work that waits for nothing.
 */
export function processorMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
