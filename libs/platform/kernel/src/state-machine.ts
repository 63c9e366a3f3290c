/** What an event does in a state: move on, or a named refusal. */
export type Transition<State extends string, Refusal extends string> =
  | { readonly to: State }
  | { readonly refuse: Refusal };

export interface StateMachineDefinition<State extends string, Event extends string, Refusal extends string> {
  readonly name: string;
  readonly states: readonly State[];
  readonly initial: State;
  /** Total by type: every event says what it does in every state. */
  readonly table: { readonly [E in Event]: { readonly [S in State]: Transition<State, Refusal> } };
  /** What causes each event, one phrase, for the generated chart. */
  readonly causes: { readonly [E in Event]: string };
}

/** A state machine as data: the SQL guard, the chart and the tests all read the same table. */
export class StateMachine<State extends string, Event extends string, Refusal extends string> {
  constructor(readonly definition: StateMachineDefinition<State, Event, Refusal>) {
    const reachable = new Set<State>([definition.initial]);
    for (let before = 0; before !== reachable.size;) {
      before = reachable.size;
      for (const event of this.events()) {
        for (const state of reachable) {
          const transition = definition.table[event][state];
          if ('to' in transition) reachable.add(transition.to);
        }
      }
    }
    const lost = definition.states.filter((state) => !reachable.has(state));
    if (lost.length > 0) throw new Error(`State machine ${definition.name}: no path leads to ${lost.join(', ')}.`);
  }

  events(): Event[] {
    return Object.keys(this.definition.table) as Event[];
  }

  apply(state: State, event: Event): Transition<State, Refusal> {
    return this.definition.table[event][state];
  }

  /** The states from which `event` moves: what a guarded `UPDATE … WHERE state = ANY(…)` lists. */
  sources(event: Event): State[] {
    return this.definition.states.filter((state) => 'to' in this.definition.table[event][state]);
  }

  /** The one state that `event` leads to. Throws when it leads to several: such an event cannot be one guarded UPDATE. */
  target(event: Event): State {
    const targets = new Set<State>();
    for (const state of this.definition.states) {
      const transition = this.definition.table[event][state];
      if ('to' in transition) targets.add(transition.to);
    }
    const [only, ...others] = targets;
    if (only === undefined || others.length > 0) {
      throw new Error(`State machine ${this.definition.name}: event ${event} has ${targets.size} targets, not one.`);
    }
    return only;
  }
}
