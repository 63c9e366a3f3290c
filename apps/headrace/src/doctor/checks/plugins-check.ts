import { type DoctorCheck, fail, ok, reasonOf } from '../check-result.js';

export const pluginsCheck: DoctorCheck = {
  name: 'plugins',
  uses: ['HEADRACE_PLUGINS'],
  examine: async (context) => {
    try {
      const plugins = await context.plugins();
      if (plugins.length === 0) return ok('none');
      return plugins.map(({ name, version, processes }) => ok(`${name} ${version}, in ${processes.join(', ')}`));
    } catch (error) {
      return fail(reasonOf(error), 'Fix HEADRACE_PLUGINS or the plugin; see docs/extending/plugins.md.');
    }
  },
};
