// What a recorded run shows first.

import { address } from "./address.js";
import { LISTED_MAX } from "./waiting.js";

/**
 * Selects the first pod that is pending at the end of a run, unless the address selects something.
 *
 * @param {import("./model.js").Model} data
 */
export function selectFirstPending(data) {
  const choose = () => {
    if (!data.isPast || !data.past) return;
    data.removeEventListener("mode", choose);
    const state = address.get();
    if (state.pod || state.node || matchMedia("(max-width: 900px)").matches) return;
    const first = data.past.waiting(LISTED_MAX).pods.find(({ attempts }) => attempts > 0);
    if (first) address.set({ pod: first.pod }, { replace: true });
  };
  data.addEventListener("mode", choose);
}
