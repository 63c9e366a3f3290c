import { ArrayField, BooleanField, DateTimeField, object, StringField } from '#platform/http';

const OPTIONAL = { optional: true } as const;

export class HarnessInstallation {
  @StringField({
    description: 'The name of a connected self-hosted worker, or `hosted`: where hosted runs are carried out.',
    example: 'hosted',
  })
  location: string;
  @BooleanField({ description: 'Its command was found on at least one of the machines there.' }) installed: boolean;
  @StringField({ ...OPTIONAL, description: 'Of its npm package, where it comes from one.' }) version?: string;
  @DateTimeField({ description: 'When that was last told.' }) last_seen_at: string;
}

export class HarnessItem {
  @StringField({ description: 'What `harness.type` of a configuration takes.', example: 'claude' }) id: string;
  @BooleanField({ description: 'Part of Headrace: always there, everywhere.' }) builtin: boolean;
  @StringField({
    ...OPTIONAL,
    description:
      'How to install it, for people: as this installation says, else as a worker does that defines it. Absent for the built-in agent, and where nobody says it.',
  })
  install_hint?: string;
  @ArrayField(object(() => HarnessInstallation), { description: 'Empty for the built-in agent.' })
  installations: HarnessInstallation[];
}

export class ListHarnessesResponse {
  @ArrayField(object(() => HarnessItem), { description: 'The known harnesses.' }) harnesses: HarnessItem[];
}
