import { z } from 'zod';

/** A variable of an agent's environment; those called HEADRACE_… are ours to set. */
const variable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,255}$/, 'is no name for a variable')
  .refine((name) => !name.startsWith('HEADRACE_'), 'begins with HEADRACE_, which is reserved');

const value = z.string().max(32_768);

const parts = {
  command: z
    .string()
    .min(1)
    .max(4096)
    .refine((command) => !command.includes('/') || command.startsWith('/'), 'must be a name, or an absolute path'),
  args: z.array(value).max(256),
  env: z.record(variable, value),
  install_hint: z.string().trim().min(1).max(1024),
  auth_variable: variable,
  auth_method: z.string().min(1).max(256),
  secrets: z.record(variable, z.string().min(1).max(256)),
  transcript_path: z.string().regex(/^\{home\}\/[^/]/, 'must begin with {home}/'),
  transcript_cwd_field: z.string().min(1).max(64),
  usage_scope: z.enum(['turn', 'session']),
  permission_modes: z.strictObject({ ask: z.string().min(1).max(256), allow: z.string().min(1).max(256) }).partial(),
  permission_env: z.record(variable, value),
  permission_session_meta: z.record(z.string(), z.unknown()),
  client_meta: z.record(z.string(), z.unknown()),
  session_meta: z.record(z.string(), z.unknown()),
};

/** A HarnessDefinition as a hand-over has it, from a launcher of ours that has looked at it: only its shape counts. */
export const harnessDefinition = z.object({
  command: z.string().min(1),
  args: z.array(z.string()),
  env: z.record(z.string(), z.string()).optional(),
  install_hint: z.string(),
  auth_variable: z.string().optional(),
  auth_method: z.string().optional(),
  secrets: z.record(z.string(), z.string()).optional(),
  transcript_path: z.string().optional(),
  transcript_cwd_field: z.string().optional(),
  usage_scope: z.enum(['turn', 'session']).optional(),
  permission_modes: z.object({ ask: z.string(), allow: z.string() }).partial().optional(),
  permission_env: z.record(z.string(), z.string()).optional(),
  permission_session_meta: z.record(z.string(), z.unknown()).optional(),
  client_meta: z.record(z.string(), z.unknown()).optional(),
  session_meta: z.record(z.string(), z.unknown()).optional(),
});

/** An entry of the file that HARNESSES_FILE names: what is left out is as in the table of known agents. */
export const harnessEntry = z.strictObject(parts).partial();
