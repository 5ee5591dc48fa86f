(* The hourglass of a body is epsilon-differentially private: checked by Coq.

   Every section carries the mark of the written proof, src/hourglass/noise/body.proof.md,
   and of the code that rests on it. `make proof` checks the file; the lines at its end print
   the axioms that each theorem uses: those of Coq's real numbers and no others.

   a counts records added, m records removed, k = a - m; R a m u says that u lies in the
   region R(a, m); the weight of (u, k) is b^level, b = exp(-epsilon). *)

From Coq Require Import ZArith Lia List Reals Lra Psatz.
Import ListNotations.
Open Scope Z_scope.

Notation real := Rdefinitions.R.

(* ------------------------------------------------------------------------------------- *)
(* The least whole number with a property that can be decided                            *)

Lemma search (P : Z -> Prop) (dec : forall l, {P l} + {~ P l}) (n : nat) :
  {l | 0 <= l < Z.of_nat n /\ P l /\ forall l', 0 <= l' -> P l' -> l <= l'}
  + {forall l', 0 <= l' < Z.of_nat n -> ~ P l'}.
Proof.
  induction n as [|n [[l [H1 [H2 H3]]]|none]].
  - right. intros. lia.
  - left. exists l. split; [lia|auto].
  - destruct (dec (Z.of_nat n)) as [yes|no].
    + left. exists (Z.of_nat n). repeat split; try lia; auto.
      intros l' H H'. destruct (Z_lt_le_dec l' (Z.of_nat n)) as [lt|le]; [|lia].
      exfalso. apply (none l'); auto.
    + right. intros l' H H'. destruct (Z.eq_dec l' (Z.of_nat n)) as [->|ne]; auto.
      apply (none l'); auto. lia.
Qed.

(* ------------------------------------------------------------------------------------- *)
(* [B1] A body: its regions, its levels                                                  *)

Section Body.

Variable U : Type.
Variables add sub : U -> U -> U.
Hypothesis sub_add : forall u v, add (sub u v) v = u.
Hypothesis add_sub : forall u v, sub (add u v) v = u.
Hypothesis sub_sub : forall u v w, sub u (add v w) = sub (sub u v) w.

(* What a record may be, and the regions. *)
Variable M : U -> Prop.
Variable R : Z -> Z -> U -> Prop.
Hypothesis R_dec : forall a m u, {R a m u} + {~ R a m u}.
Hypothesis some_record : exists v, M v.
Hypothesis added : forall a m u v, 0 <= a -> 0 <= m -> M v -> R a m u -> R (a + 1) m (add u v).
Hypothesis removed : forall a m u v, 0 <= a -> 0 <= m -> M v -> R a m u -> R a (m + 1) (sub u v).
Hypothesis reached : forall u k,
  {am | 0 <= fst am /\ 0 <= snd am /\ fst am - snd am = k /\ R (fst am) (snd am) u}.

Definition at_level (u : U) (k l : Z) :=
  exists a m, 0 <= a /\ 0 <= m /\ a - m = k /\ a + m = l /\ R a m u.

Definition is_level u k l := at_level u k l /\ forall l', at_level u k l' -> l <= l'.

Lemma at_level_dec u k l : {at_level u k l} + {~ at_level u k l}.
Proof.
  pose (a := (l + k) / 2). pose (m := (l - k) / 2).
  destruct (Z_le_gt_dec 0 a) as [Ha|Ha]; [|right].
  destruct (Z_le_gt_dec 0 m) as [Hm|Hm]; [|right].
  destruct (Z.eq_dec (a - m) k) as [Hk|Hk]; [|right].
  destruct (Z.eq_dec (a + m) l) as [Hl|Hl]; [|right].
  destruct (R_dec a m u) as [HR|HR]; [|right].
  - left. exists a, m. auto.
  - intros (a' & m' & ? & ? & ? & ? & HR'). apply HR.
    replace a with a' by lia. replace m with m' by lia. exact HR'.
  - intros (a' & m' & ? & ? & ? & ? & _). apply Hl. unfold a, m.
    replace (l + k) with (a' * 2) by lia. replace (l - k) with (m' * 2) by lia.
    rewrite !Z.div_mul; lia.
  - intros (a' & m' & ? & ? & ? & ? & _). apply Hk. unfold a, m.
    replace (l + k) with (a' * 2) by lia. replace (l - k) with (m' * 2) by lia.
    rewrite !Z.div_mul; lia.
  - intros (a' & m' & ? & ? & ? & ? & _). unfold m in Hm.
    replace (l - k) with (m' * 2) in Hm by lia. rewrite Z.div_mul in Hm; lia.
  - intros (a' & m' & ? & ? & ? & ? & _). unfold a in Ha.
    replace (l + k) with (a' * 2) in Ha by lia. rewrite Z.div_mul in Ha; lia.
Qed.

(* Least levels exist, *)
Lemma level_exists u k : {l | is_level u k l}.
Proof.
  destruct (reached u k) as [[a m] (Ha & Hm & Hk & HR)]. cbn in *.
  destruct (search (at_level u k) (at_level_dec u k) (Z.to_nat (a + m + 1)))
    as [[l (H1 & H2 & H3)]|none].
  - exists l. split; auto. intros l' H. apply H3; auto.
    destruct H as (a' & m' & ? & ? & ? & ? & _). lia.
  - exfalso. apply (none (a + m)); [lia|]. exists a, m. auto.
Qed.

Definition level u k := proj1_sig (level_exists u k).

Lemma level_is u k : is_level u k (level u k).
Proof. unfold level. destruct (level_exists u k). auto. Qed.

(* and there is one of them only. *)
Lemma level_unique u k l : is_level u k l -> level u k = l.
Proof.
  intros [H1 H2]. destruct (level_is u k) as [H3 H4].
  specialize (H2 _ H3). specialize (H4 _ H1). lia.
Qed.

Lemma level_bounds_count u k : Z.abs k <= level u k.
Proof. destruct (level_is u k) as [(a & m & ? & ? & ? & ? & _) _]. lia. Qed.

(* ------------------------------------------------------------------------------------- *)
(* [B2] One record moves the level by exactly one                                        *)

Theorem one_step u k v : M v -> Z.abs (level (add u v) (k + 1) - level u k) = 1.
Proof.
  intros Hv. destruct (level_is u k) as [Here Least].
  destruct (level_is (add u v) (k + 1)) as [There Least'].
  set (l := level u k) in *. set (l' := level (add u v) (k + 1)) in *.
  assert (l' <= l + 1).
  { apply Least'. destruct Here as (a & m & ? & ? & ? & ? & HR).
    exists (a + 1), m. repeat split; try lia. apply added; auto. }
  assert (l <= l' + 1).
  { apply Least. destruct There as (a & m & ? & ? & ? & ? & HR).
    exists a, (m + 1). repeat split; try lia.
    rewrite <- (add_sub u v). apply removed; auto. }
  destruct Here as (a & m & ? & ? & ? & ? & _).
  destruct There as (a' & m' & ? & ? & ? & ? & _). lia.
Qed.

(* ------------------------------------------------------------------------------------- *)
(* [B3] The regions that hold a point are those from its level on, so that               *)
(*      b^level = (1 - b^2) (b^level + b^(level+2) + ...) is a mixture of uniform laws   *)

Lemma grows a m u : 0 <= a -> 0 <= m -> R a m u -> R (a + 1) (m + 1) u.
Proof.
  intros Ha Hm HR. destruct some_record as [v Hv].
  rewrite <- (add_sub u v). apply removed; [lia|exact Hm|exact Hv|now apply added].
Qed.

Lemma grows_by a m u (n : nat) :
  0 <= a -> 0 <= m -> R a m u -> R (a + Z.of_nat n) (m + Z.of_nat n) u.
Proof.
  intros Ha Hm HR. induction n as [|n IH].
  - now rewrite !Z.add_0_r.
  - replace (a + Z.of_nat (S n)) with (a + Z.of_nat n + 1) by lia.
    replace (m + Z.of_nat (S n)) with (m + Z.of_nat n + 1) by lia.
    apply grows; auto; lia.
Qed.

Theorem region_iff_level a m u : 0 <= a -> 0 <= m -> (R a m u <-> level u (a - m) <= a + m).
Proof.
  intros Ha Hm. destruct (level_is u (a - m)) as [Here Least]. split.
  - intros HR. apply Least. exists a, m. auto.
  - intros Hl. destruct Here as (a' & m' & ? & ? & ? & ? & HR).
    replace a with (a' + Z.of_nat (Z.to_nat (a - a'))) by lia.
    replace m with (m' + Z.of_nat (Z.to_nat (a - a'))) by lia.
    apply grows_by; auto.
Qed.

Open Scope R_scope.

Fixpoint partial (b : real) (l n : nat) : real :=
  match n with O => 0 | S n => partial b l n + b ^ (l + 2 * n) end.

Theorem mixture (b : real) (l n : nat) :
  (1 - b ^ 2) * partial b l n = b ^ l - b ^ (l + 2 * n).
Proof.
  induction n as [|n IH].
  - cbn [partial]. replace (l + 2 * 0)%nat with l by lia. ring.
  - cbn [partial]. rewrite Rmult_plus_distr_l, IH.
    replace (l + 2 * S n)%nat with (l + 2 * n + 2)%nat by lia.
    rewrite (pow_add b (l + 2 * n) 2). ring.
Qed.

(* ------------------------------------------------------------------------------------- *)
(* [B2] Privacy: the ratio of two weights is e^epsilon or e^-epsilon                     *)

Variable epsilon : real.
Hypothesis epsilon_positive : 0 < epsilon.

Definition weight (o : U * Z) : real := exp (- epsilon * IZR (level (fst o) (snd o))).

Lemma weight_positive o : 0 < weight o.
Proof. apply exp_pos. Qed.

Theorem ratio u k v : M v ->
  weight (add u v, (k + 1)%Z) = exp epsilon * weight (u, k) \/
  weight (add u v, (k + 1)%Z) = exp (- epsilon) * weight (u, k).
Proof.
  intros Hv. unfold weight. cbn [fst snd]. pose proof (one_step u k v Hv) as H.
  assert (level (add u v) (k + 1) = level u k - 1 \/ level (add u v) (k + 1) = level u k + 1)%Z
    as [->| ->] by lia; [left|right]; rewrite <- exp_plus; f_equal;
    rewrite ?minus_IZR, ?plus_IZR; ring.
Qed.

Lemma exp_epsilon : exp (- epsilon) < 1 < exp epsilon.
Proof. rewrite <- exp_0. split; apply exp_increasing; lra. Qed.

Lemma ratio_bounds u k v : M v ->
  weight (u, k) <= exp epsilon * weight (add u v, (k + 1)%Z) /\
  weight (add u v, (k + 1)%Z) <= exp epsilon * weight (u, k).
Proof.
  intros Hv. pose proof (weight_positive (u, k)) as Hw. pose proof exp_epsilon as [H1 H2].
  assert (exp epsilon * exp (- epsilon) = 1) as H3.
  { rewrite <- exp_plus, <- exp_0. f_equal. lra. }
  set (w := weight (u, k)) in *. set (e := exp epsilon) in *. set (i := exp (- epsilon)) in *.
  destruct (ratio u k v Hv) as [->| ->]; fold w e i; split.
  - assert (w <= e * w) by nra. assert (e * w <= e * (e * w)) by nra. lra.
  - lra.
  - rewrite <- Rmult_assoc, H3. lra.
  - nra.
Qed.

(* Sums over all points: the least upper bound of the sums over finitely many of them. *)

Fixpoint total {A : Type} (f : A -> real) (l : list A) : real :=
  match l with [] => 0 | x :: l => f x + total f l end.

Definition is_sum {A : Type} (f : A -> real) (E : A -> Prop) (s : real) :=
  is_lub (fun t => exists l, NoDup l /\ Forall E l /\ t = total f l) s.

Definition all {A : Type} (_ : A) := True.

Lemma Forall_all {A : Type} (l : list A) : Forall all l.
Proof. induction l; constructor; auto. exact I. Qed.

(* The noise that leads from the totals (T, n) to the answer o, and back. *)
Definition noise (T : U) (n : Z) (o : U * Z) : U * Z := (sub (fst o) T, (snd o - n)%Z).
Definition answer (T : U) (n : Z) (o : U * Z) : U * Z := (add (fst o) T, (snd o + n)%Z).

Lemma noise_answer T n o : noise T n (answer T n o) = o.
Proof. destruct o. unfold noise, answer. cbn. rewrite add_sub. f_equal. lia. Qed.

Lemma answer_noise T n o : answer T n (noise T n o) = o.
Proof. destruct o. unfold noise, answer. cbn. rewrite sub_add. f_equal. lia. Qed.

Lemma NoDup_map {A B : Type} (f : A -> B) (g : B -> A) (l : list A) :
  (forall x, g (f x) = x) -> NoDup l -> NoDup (map f l).
Proof.
  intros inverse H. induction H as [|x l out H IH]; cbn; constructor; auto.
  intros H'. apply in_map_iff in H' as (y & e & H').
  apply out. rewrite <- (inverse x), <- e, inverse. exact H'.
Qed.

Lemma total_map {A B : Type} (f : A -> real) (g : B -> A) (l : list B) :
  total f (map g l) = total (fun x => f (g x)) l.
Proof. induction l as [|x l IH]; cbn; congruence. Qed.

Lemma total_ext {A : Type} (f g : A -> real) (l : list A) :
  (forall x, f x = g x) -> total f l = total g l.
Proof. intros e. induction l as [|x l IH]; cbn; congruence. Qed.

(* [B3] The normaliser is the same for all data. *)
Theorem same_normaliser T n z :
  is_sum weight all z -> is_sum (fun o => weight (noise T n o)) all z.
Proof.
  intros [upper least]. split.
  - intros t (l & nodup & _ & ->). apply upper. exists (map (noise T n) l).
    split; [|split; [apply Forall_all|now rewrite total_map]].
    apply (NoDup_map _ (answer T n)); auto. apply answer_noise.
  - intros t bound. apply least. intros s (l & nodup & _ & ->). apply bound.
    exists (map (answer T n) l). split; [|split; [apply Forall_all|]].
    + apply (NoDup_map _ (noise T n)); auto. apply noise_answer.
    + rewrite total_map. apply total_ext. intros x. now rewrite noise_answer.
Qed.

(* The probability that the answer falls into E when the totals are (T, n). *)
Definition is_probability (z : real) (T : U) (n : Z) (E : U * Z -> Prop) (p : real) :=
  is_sum (fun o => weight (noise T n o) / z) E p.

Lemma total_le {A : Type} (f g : A -> real) (c : real) (l : list A) :
  (forall x, f x <= c * g x) -> total f l <= c * total g l.
Proof. intros H. induction l as [|x l IH]; cbn; [lra|]. specialize (H x). lra. Qed.

Lemma event_bound z T n T' n' E p p' :
  (forall o, weight (noise T n o) <= exp epsilon * weight (noise T' n' o)) ->
  0 < z -> is_probability z T n E p -> is_probability z T' n' E p' ->
  p <= exp epsilon * p'.
Proof.
  intros step positive [_ least] [upper _]. apply least. intros t (l & nodup & inside & ->).
  apply Rle_trans with (exp epsilon * total (fun o => weight (noise T' n' o) / z) l).
  - apply total_le. intros o. unfold Rdiv. rewrite <- Rmult_assoc.
    apply Rmult_le_compat_r; [|apply step]. left. now apply Rinv_0_lt_compat.
  - apply Rmult_le_compat_l; [left; apply exp_pos|]. apply upper. exists l. auto.
Qed.

(* [B2] Data with totals (T, n) and the same data with one record v more. *)
Theorem differentially_private z T n v E p p' :
  M v -> 0 < z ->
  is_probability z T n E p -> is_probability z (add T v) (n + 1) E p' ->
  p <= exp epsilon * p' /\ p' <= exp epsilon * p.
Proof.
  intros Hv positive Hp Hp'.
  assert (forall o, fst (noise T n o) = add (fst (noise (add T v) (n + 1)%Z o)) v /\
                    snd (noise T n o) = (snd (noise (add T v) (n + 1)%Z o) + 1)%Z) as move.
  { intros o. unfold noise. cbn. rewrite sub_sub, sub_add. split; auto. lia. }
  assert (forall o, weight (noise T n o) = weight (add (fst (noise (add T v) (n + 1)%Z o)) v,
                      (snd (noise (add T v) (n + 1)%Z o) + 1)%Z)) as same.
  { intros o. destruct (move o) as [H1 H2]. rewrite <- H1, <- H2. now destruct (noise T n o). }
  split.
  - apply (event_bound z T n (add T v) (n + 1)%Z E); auto. intros o. rewrite same.
    destruct (noise (add T v) (n + 1)%Z o) as [u k]. apply (ratio_bounds u k v Hv).
  - apply (event_bound z (add T v) (n + 1)%Z T n E); auto. intros o. rewrite same.
    destruct (noise (add T v) (n + 1)%Z o) as [u k]. apply (ratio_bounds u k v Hv).
Qed.

(* A bound on all finite sums makes the sum exist. *)
Lemma sum_exists {A : Type} (f : A -> real) (B : real) :
  (forall l, NoDup l -> total f l <= B) -> {s | is_sum f all s /\ s <= B}.
Proof.
  intros bound.
  destruct (completeness (fun t => exists l, NoDup l /\ Forall all l /\ t = total f l))
    as [s Hs].
  - exists B. intros t (l & nodup & _ & ->). auto.
  - exists 0. exists []. repeat split; constructor.
  - exists s. split; [exact Hs|]. apply Hs. intros t (l & nodup & _ & ->). auto.
Qed.

End Body.

(* ------------------------------------------------------------------------------------- *)
(* [B3] Sums over points of whole numbers are finite                                     *)

Open Scope Z_scope.

Fixpoint Zn (d : nat) : Type := match d with O => unit | S d => (Z * Zn d)%type end.

Fixpoint plus (d : nat) : Zn d -> Zn d -> Zn d :=
  match d with
  | O => fun _ _ => tt
  | S d => fun u v => (fst u + fst v, plus d (snd u) (snd v))
  end.

Fixpoint minus (d : nat) : Zn d -> Zn d -> Zn d :=
  match d with
  | O => fun _ _ => tt
  | S d => fun u v => (fst u - fst v, minus d (snd u) (snd v))
  end.

Lemma minus_plus d u v : plus d (minus d u v) v = u.
Proof.
  induction d as [|d IH]; cbn; [now destruct u|].
  destruct u as [x u], v as [y v]. cbn. rewrite IH. f_equal. lia.
Qed.

Lemma plus_minus d u v : minus d (plus d u v) v = u.
Proof.
  induction d as [|d IH]; cbn; [now destruct u|].
  destruct u as [x u], v as [y v]. cbn. rewrite IH. f_equal. lia.
Qed.

Lemma minus_minus d u v w : minus d u (plus d v w) = minus d (minus d u v) w.
Proof.
  induction d as [|d IH]; cbn; [reflexivity|].
  destruct u as [x u], v as [y v], w as [t w]. cbn. rewrite IH. f_equal. lia.
Qed.

Lemma Zn_dec d (u v : Zn d) : {u = v} + {u <> v}.
Proof. induction d as [|d IH]; cbn in *; decide equality; apply Z.eq_dec. Qed.

(* The sum of the absolute values. *)
Fixpoint size (d : nat) : Zn d -> Z :=
  match d with O => fun _ => 0 | S d => fun u => Z.abs (fst u) + size d (snd u) end.

Lemma size_not_negative d u : 0 <= size d u.
Proof. induction d as [|d IH]; cbn; [lia|]. specialize (IH (snd u)). lia. Qed.

Open Scope R_scope.

Lemma total_app {A : Type} (f : A -> real) l l' : total f (l ++ l') = total f l + total f l'.
Proof. induction l as [|x l IH]; cbn; [lra|]. rewrite IH. lra. Qed.

Lemma total_scale {A : Type} (f : A -> real) c l : total (fun x => c * f x) l = c * total f l.
Proof. induction l as [|x l IH]; cbn; [lra|]. rewrite IH. lra. Qed.

Lemma total_not_negative {A : Type} (f : A -> real) l : (forall x, 0 <= f x) -> 0 <= total f l.
Proof. intros H. induction l as [|x l IH]; cbn; [lra|]. specialize (H x). lra. Qed.

Lemma total_incl {A : Type} (f : A -> real) l l' :
  (forall x, 0 <= f x) -> NoDup l -> incl l l' -> total f l <= total f l'.
Proof.
  intros H nodup. revert l'. induction nodup as [|x l out nodup IH]; intros l' sub; cbn.
  - now apply total_not_negative.
  - destruct (in_split x l') as (l1 & l2 & ->); [apply sub; now left|].
    assert (total f l <= total f (l1 ++ l2)) as less.
    { apply IH. intros y Hy. assert (In y (l1 ++ x :: l2)) as H' by (apply sub; now right).
      apply in_app_iff. apply in_app_iff in H' as [|[<-|]]; auto. contradiction. }
    rewrite total_app in *. cbn. lra.
Qed.

Definition bounded {A : Type} (f : A -> real) (B : real) :=
  forall l : list A, NoDup l -> total f l <= B.

Lemma total_prod {A B : Type} (f : A -> real) (g : B -> real) l l' :
  total (fun p => f (fst p) * g (snd p)) (list_prod l l') = total f l * total g l'.
Proof.
  induction l as [|x l IH]; cbn; [lra|]. rewrite total_app, IH, total_map. cbn.
  rewrite total_scale. lra.
Qed.

Lemma bounded_prod {A B : Type} (f : A -> real) (g : B -> real) F G
  (decA : forall x y : A, {x = y} + {x <> y}) (decB : forall x y : B, {x = y} + {x <> y}) :
  (forall x, 0 <= f x) -> (forall y, 0 <= g y) -> bounded f F -> bounded g G ->
  bounded (fun p => f (fst p) * g (snd p)) (F * G).
Proof.
  intros Hf Hg HF HG l nodup.
  set (xs := List.nodup decA (map fst l)). set (ys := List.nodup decB (map snd l)).
  apply Rle_trans with (total (fun p => f (fst p) * g (snd p)) (list_prod xs ys)).
  - apply total_incl; auto.
    + intros p. now apply Rmult_le_pos.
    + intros [x y] H. apply in_prod; apply nodup_In; apply in_map_iff; exists (x, y); auto.
  - rewrite total_prod. apply Rmult_le_compat; try (now apply total_not_negative).
    + apply HF, NoDup_nodup.
    + apply HG, NoDup_nodup.
Qed.

Section Decay.

Variable delta : real.
Hypothesis delta_positive : 0 < delta.

Let q := exp (- delta).

Lemma q_bounds : 0 < q < 1.
Proof. split; [apply exp_pos|]. rewrite <- exp_0. apply exp_increasing. lra. Qed.

Lemma geometric (N : nat) :
  total (fun n => exp (- delta * IZR (Z.of_nat n))) (seq 0 N) <= / (1 - q).
Proof.
  pose proof q_bounds as [q0 q1].
  assert (forall N, (1 - q) * total (fun n => exp (- delta * IZR (Z.of_nat n))) (seq 0 N)
          = 1 - exp (- delta * IZR (Z.of_nat N))) as closed.
  { clear N. induction N as [|N IH].
    - cbn [seq total Z.of_nat]. rewrite !Rmult_0_r, exp_0. lra.
    - rewrite seq_S, total_app, Rmult_plus_distr_l, IH.
      replace (Z.of_nat (S N)) with (Z.of_nat N + 1)%Z by lia.
      replace (- delta * IZR (Z.of_nat N + 1)) with (- delta * IZR (Z.of_nat N) + - delta)
        by (rewrite plus_IZR; ring).
      rewrite exp_plus. fold q. cbn [total Nat.add]. lra. }
  apply Rmult_le_reg_l with (1 - q); [lra|]. rewrite closed, Rinv_r by lra.
  pose proof (exp_pos (- delta * IZR (Z.of_nat N))). lra.
Qed.

Lemma bounded_line : bounded (fun z => exp (- delta * IZR (Z.abs z))) (2 * / (1 - q)).
Proof.
  intros l nodup.
  set (N := S (Z.to_nat (fold_right (fun z s => Z.abs z + s)%Z 0%Z l))).
  set (up := map Z.of_nat (seq 0 N)). set (down := map (fun n => (- Z.of_nat n)%Z) (seq 0 N)).
  apply Rle_trans with (total (fun z => exp (- delta * IZR (Z.abs z))) (up ++ down)).
  - apply total_incl; auto; [intros; left; apply exp_pos|].
    intros z Hz.
    assert (Z.abs z <= fold_right (fun z s => Z.abs z + s)%Z 0%Z l)%Z as small.
    { clear -Hz. assert (forall l, 0 <= fold_right (fun z s => Z.abs z + s)%Z 0%Z l)%Z as pos.
      { clear. induction l; cbn; lia. }
      induction l as [|x l IH]; cbn in *; [contradiction|].
      pose proof (pos l). destruct Hz as [->|Hz]; [lia|]. specialize (IH Hz). lia. }
    apply in_app_iff. destruct (Z_le_gt_dec 0 z) as [pos|neg]; [left|right]; apply in_map_iff.
    + exists (Z.to_nat z). split; [lia|]. apply in_seq. lia.
    + exists (Z.to_nat (- z)). split; [lia|]. apply in_seq. lia.
  - rewrite total_app. unfold up, down. rewrite !total_map.
    rewrite (total_ext (fun n => exp (- delta * IZR (Z.abs (Z.of_nat n))))
               (fun n => exp (- delta * IZR (Z.of_nat n)))) by (intros; do 3 f_equal; lia).
    rewrite (total_ext (fun n => exp (- delta * IZR (Z.abs (- Z.of_nat n))))
               (fun n => exp (- delta * IZR (Z.of_nat n)))) by (intros; do 3 f_equal; lia).
    pose proof (geometric N). lra.
Qed.

Lemma bounded_points d : {B | bounded (fun u => exp (- delta * IZR (size d u))) B}.
Proof.
  induction d as [|d [B IH]].
  - exists 1. intros l nodup. cbn [size]. rewrite Rmult_0_r, exp_0.
    apply Rle_trans with (total (fun _ : Zn 0 => 1) [tt : Zn 0]).
    + apply total_incl; auto; [intros; lra|]. intros []. now left.
    + cbn. lra.
  - exists (2 * / (1 - q) * B). intros l nodup.
    rewrite (total_ext _ (fun u : Zn (S d) =>
      exp (- delta * IZR (Z.abs (fst u))) * exp (- delta * IZR (size d (snd u))))).
    + apply (bounded_prod (fun z => exp (- delta * IZR (Z.abs z)))
               (fun u => exp (- delta * IZR (size d u)))); auto using Z.eq_dec, Zn_dec;
        try (intros; left; apply exp_pos). apply bounded_line.
    + intros [x u]. cbn [size fst snd]. rewrite plus_IZR, <- exp_plus. f_equal. ring.
Qed.

End Decay.

(* If the regions grow no faster than a + m does, the weights of a body have a finite sum. *)
Section Finite.

Variable d : nat.
Variable R : Z -> Z -> Zn d -> Prop.
Hypothesis R_dec : forall a m u, {R a m u} + {~ R a m u}.
Hypothesis reached : forall u k,
  {am | (0 <= fst am)%Z /\ (0 <= snd am)%Z /\ (fst am - snd am)%Z = k /\ R (fst am) (snd am) u}.
Variables C G : Z.
Hypothesis G_positive : (0 <= G)%Z.
Hypothesis grow_slowly : forall a m u,
  (0 <= a)%Z -> (0 <= m)%Z -> R a m u -> (size d u <= C + G * (a + m))%Z.
Variable epsilon : real.
Hypothesis epsilon_positive : 0 < epsilon.

Let w := weight (Zn d) R R_dec reached epsilon.

Lemma weight_bound o :
  let delta := epsilon / IZR (G + 1) in
  w o <= exp (delta * IZR C) *
         (exp (- delta * IZR (size d (fst o))) * exp (- delta * IZR (Z.abs (snd o)))).
Proof.
  destruct o as [u k]. cbn [fst snd]. unfold w, weight. cbn [fst snd].
  set (l := level (Zn d) R R_dec reached u k).
  assert (size d u + Z.abs k - C <= (G + 1) * l)%Z as bound.
  { pose proof (level_bounds_count (Zn d) R R_dec reached u k) as count. fold l in count.
    destruct (level_is (Zn d) R R_dec reached u k) as [(a & m & Ha & Hm & Hk & Hl & HR) _].
    fold l in Hl. pose proof (grow_slowly a m u Ha Hm HR). rewrite Hl in *. lia. }
  assert (0 < IZR (G + 1)) as positive by (apply IZR_lt; lia).
  rewrite <- !exp_plus. apply Rnot_gt_le. intros H. apply exp_lt_inv in H.
  apply IZR_le in bound. rewrite minus_IZR, plus_IZR, mult_IZR in bound.
  apply (Rmult_le_compat_l (epsilon / IZR (G + 1))) in bound.
  - replace (epsilon / IZR (G + 1) * (IZR (G + 1) * IZR l)) with (epsilon * IZR l) in bound
      by (field; lra). lra.
  - left. apply Rdiv_lt_0_compat; auto.
Qed.

Theorem finite_normaliser : {z | is_sum w all z /\ 0 < z}.
Proof.
  set (delta := epsilon / IZR (G + 1)).
  assert (0 < delta) as positive by (apply Rdiv_lt_0_compat; auto; apply IZR_lt; lia).
  destruct (bounded_points delta positive d) as [B HB].
  set (c := exp (delta * IZR C)).
  destruct (sum_exists w (c * (B * (2 * / (1 - exp (- delta)))))) as [z [Hz _]].
  - intros l nodup.
    apply Rle_trans with (c * total (fun o : Zn d * Z =>
      exp (- delta * IZR (size d (fst o))) * exp (- delta * IZR (Z.abs (snd o)))) l).
    + apply total_le. intros o. apply weight_bound.
    + apply Rmult_le_compat_l; [left; apply exp_pos|].
      apply (bounded_prod (fun u => exp (- delta * IZR (size d u)))
               (fun k => exp (- delta * IZR (Z.abs k)))); auto using Z.eq_dec, Zn_dec;
        try (intros; left; apply exp_pos). now apply bounded_line.
  - exists z. split; auto. destruct Hz as [upper _].
    assert (exists u : Zn d, True) as [u _].
    { clear. induction d as [|n [u _]]; [now exists tt|]. now exists (0%Z, u). }
    apply Rlt_le_trans with (w (u, 0%Z)); [apply exp_pos|].
    replace (w (u, 0%Z)) with (total w [(u, 0%Z)]) by (cbn; lra).
    apply upper. exists [(u, 0%Z)]. repeat split; auto using Forall_all.
    constructor; [intros []|constructor].
Qed.

End Finite.

(* ------------------------------------------------------------------------------------- *)
(* [B4] The box: several columns that share one count                                    *)

Open Scope Z_scope.

(* The least a with x <= c + g a. *)
Definition stairs (x c g : Z) := Z.max 0 (- ((c - x) / g)).

Lemma stairs_least x c g a : 0 < g -> 0 <= a -> (x <= c + g * a <-> stairs x c g <= a).
Proof.
  intros Hg Ha. unfold stairs.
  pose proof (Z.div_mod (c - x) g) as H. pose proof (Z.mod_pos_bound (c - x) g Hg).
  split; intros; nia.
Qed.

Section Box.

Variable d : nat.

Fixpoint in_box (d : nat) : Zn d -> Zn d -> Z -> Z -> Zn d -> Prop :=
  match d with
  | O => fun _ _ _ _ _ => True
  | S d => fun g c a m u =>
      (- fst c - fst g * m <= fst u <= fst c + fst g * a) /\
      in_box d (snd g) (snd c) a m (snd u)
  end.

(* Each number of u is at least its neighbour in v. *)
Fixpoint above (d : nat) : Zn d -> Zn d -> Prop :=
  match d with
  | O => fun _ _ => True
  | S d => fun u v => fst v <= fst u /\ above d (snd u) (snd v)
  end.

Fixpoint constant (d : nat) (x : Z) : Zn d :=
  match d with O => tt | S d => (x, constant d x) end.

Definition cells (d : nat) (g v : Zn d) := above d v (constant d 0) /\ above d g v.

Variables g c : Zn d.
Hypothesis g_positive : above d g (constant d 1).
Hypothesis c_not_negative : above d c (constant d 0).

Lemma in_box_dec a m u : {in_box d g c a m u} + {~ in_box d g c a m u}.
Proof.
  clear. revert g c u. induction d as [|n IH]; intros g c u; cbn; [now left|].
  destruct (IH (snd g) (snd c) (snd u)) as [yes|no]; [|right; tauto].
  destruct (Z_le_gt_dec (- fst c - fst g * m) (fst u)); [|right; lia].
  destruct (Z_le_gt_dec (fst u) (fst c + fst g * a)); [|right; lia].
  left. auto.
Qed.

Lemma box_added a m u v : 0 <= a -> 0 <= m ->
  cells d g v -> in_box d g c a m u -> in_box d g c (a + 1) m (plus d u v).
Proof.
  clear. intros _ _. revert g c u v. unfold cells.
  induction d as [|n IH]; intros g c u v; cbn; [auto|].
  intros [[H1 H2] [H3 H4]] [H5 H6]. split; [lia|]. now apply IH.
Qed.

Lemma box_removed a m u v : 0 <= a -> 0 <= m ->
  cells d g v -> in_box d g c a m u -> in_box d g c a (m + 1) (minus d u v).
Proof.
  clear. intros _ _. revert g c u v. unfold cells.
  induction d as [|n IH]; intros g c u v; cbn; [auto|].
  intros [[H1 H2] [H3 H4]] [H5 H6]. split; [lia|]. now apply IH.
Qed.

Lemma box_large a m u : size d u <= a -> size d u <= m -> in_box d g c a m u.
Proof.
  revert g c g_positive c_not_negative u. clear.
  induction d as [|n IH]; [cbn; auto|]. intros [g0 g] [c0 c] Hg Hc [x u] Ha Hm. cbn in *.
  destruct Hg as [G1 G2], Hc as [C1 C2]. pose proof (size_not_negative n u).
  assert (1 * a <= g0 * a) by (apply Z.mul_le_mono_nonneg_r; lia).
  assert (1 * m <= g0 * m) by (apply Z.mul_le_mono_nonneg_r; lia).
  split; [lia|]. apply IH; auto; lia.
Qed.

Lemma box_reached u k :
  {am | 0 <= fst am /\ 0 <= snd am /\ fst am - snd am = k /\ in_box d g c (fst am) (snd am) u}.
Proof.
  pose proof (size_not_negative d u).
  exists (size d u + Z.max 0 k, size d u + Z.max 0 (- k)). cbn [fst snd].
  repeat split; try lia. apply box_large; lia.
Qed.

Lemma box_some_record : exists v, cells d g v.
Proof.
  exists (constant d 0). revert g g_positive. clear. unfold cells.
  induction d as [|n IH]; [cbn; auto|]. intros [g0 g] [G1 G2]. cbn in *.
  destruct (IH g G2) as [H1 H2]. repeat split; auto; lia.
Qed.

Lemma box_grows_slowly a m u : 0 <= a -> 0 <= m ->
  in_box d g c a m u -> size d u <= size d c + size d g * (a + m).
Proof.
  clear. intros Ha Hm. revert g c u. induction d as [|n IH]; [cbn; lia|].
  intros [g0 g] [c0 c] [x u] [H1 H2]. specialize (IH _ _ _ H2). cbn in *.
  assert (g0 * a <= Z.abs g0 * a) by (apply Z.mul_le_mono_nonneg_r; lia).
  assert (g0 * m <= Z.abs g0 * m) by (apply Z.mul_le_mono_nonneg_r; lia).
  assert (0 <= Z.abs g0 * a) by (apply Z.mul_nonneg_nonneg; lia).
  assert (0 <= Z.abs g0 * m) by (apply Z.mul_nonneg_nonneg; lia).
  rewrite Z.mul_add_distr_r, Z.mul_add_distr_l. lia.
Qed.

Definition box_level := level (Zn d) (in_box d g c) in_box_dec box_reached.
Definition box_weight := weight (Zn d) (in_box d g c) in_box_dec box_reached.

Theorem box_one_step u k v :
  cells d g v -> Z.abs (box_level (plus d u v) (k + 1) - box_level u k) = 1.
Proof.
  apply (one_step (Zn d) (plus d) (minus d) (plus_minus d) (cells d g));
    [apply box_added|apply box_removed].
Qed.

Theorem box_normaliser epsilon : (0 < epsilon)%R -> {z | is_sum (box_weight epsilon) all z /\ (0 < z)%R}.
Proof.
  apply (finite_normaliser d _ _ _ (size d c) (size d g)).
  - apply size_not_negative.
  - apply box_grows_slowly.
Qed.

Theorem box_private epsilon z T n v E p p' :
  (0 < epsilon)%R -> is_sum (box_weight epsilon) all z -> cells d g v ->
  let chance := is_probability (Zn d) (minus d) (in_box d g c) in_box_dec box_reached epsilon z in
  chance T n E p -> chance (plus d T v) (n + 1) E p' ->
  (p <= exp epsilon * p' /\ p' <= exp epsilon * p)%R.
Proof.
  intros He Hz Hv chance. destruct (box_normaliser epsilon He) as [z' [Hz' positive]].
  assert (z = z') as -> by (eapply is_lub_u; eassumption).
  apply (differentially_private (Zn d) (plus d) (minus d) (minus_plus d) (plus_minus d)
    (minus_minus d) (cells d g)); auto using box_added, box_removed.
Qed.

(* The level that the code computes: the stairs up and down of the column that has most. *)

Fixpoint up (d : nat) : Zn d -> Zn d -> Zn d -> Z :=
  match d with
  | O => fun _ _ _ => 0
  | S d => fun g c u =>
      Z.max (stairs (fst u) (fst c) (fst g)) (up d (snd g) (snd c) (snd u))
  end.

Fixpoint down (d : nat) : Zn d -> Zn d -> Zn d -> Z :=
  match d with
  | O => fun _ _ _ => 0
  | S d => fun g c u =>
      Z.max (stairs (- fst u) (fst c) (fst g)) (down d (snd g) (snd c) (snd u))
  end.

Lemma in_box_stairs a m u : 0 <= a -> 0 <= m ->
  (in_box d g c a m u <-> up d g c u <= a /\ down d g c u <= m).
Proof.
  intros Ha Hm. revert g c g_positive c_not_negative u. clear - Ha Hm.
  induction d as [|n IH]; [cbn; lia|].
  intros [g0 g] [c0 c] [G1 G2] [C1 C2] [x u]. specialize (IH _ _ G2 C2 u). cbn in *.
  pose proof (stairs_least x c0 g0 a ltac:(lia) Ha).
  pose proof (stairs_least (- x) c0 g0 m ltac:(lia) Hm). rewrite IH. lia.
Qed.

Lemma up_not_negative u : 0 <= up d g c u /\ 0 <= down d g c u.
Proof.
  clear. revert g c u. induction d as [|n IH]; [cbn; lia|].
  intros [g0 g] [c0 c] [x u]. specialize (IH g c u). cbn in *. unfold stairs. lia.
Qed.

Theorem box_level_formula u k :
  box_level u k = Z.max (Z.abs k) (Z.max (2 * up d g c u - k) (2 * down d g c u + k)).
Proof.
  apply level_unique. pose proof (up_not_negative u).
  set (J := up d g c u) in *. set (J' := down d g c u) in *.
  split.
  - remember (Z.max (Z.max 0 k) (Z.max J (J' + k))) as a eqn:Ea.
    exists a, (a - k). repeat split; try lia. apply in_box_stairs; fold J J'; lia.
  - intros l (a & m & Ha & Hm & Hk & Hl & HR). apply in_box_stairs in HR; auto.
    fold J J' in HR. lia.
Qed.

End Box.

(* One column: the level of the paper, |j| + |k - j| with j the signed stair of x. *)
Definition signed_stair (x c g : Z) :=
  if Z_le_gt_dec 0 x then stairs x c g else - stairs (- x) c g.

Theorem one_column g c (Hg : above 1 g (constant 1 1)) (Hc : above 1 c (constant 1 0)) u k :
  let j := signed_stair (fst u) (fst c) (fst g) in
  box_level 1 g c Hg Hc u k = Z.abs j + Z.abs (k - j).
Proof.
  intros j. rewrite box_level_formula. unfold j, signed_stair. clear j.
  destruct g as [g0 []], c as [c0 []], u as [x []], Hg as [G _], Hc as [C _].
  cbn [up down fst snd constant] in *.
  assert (0 <= x -> stairs (- x) c0 g0 = 0).
  { intros. unfold stairs. pose proof (Z.div_pos (c0 - - x) g0). lia. }
  assert (x <= 0 -> stairs x c0 g0 = 0).
  { intros. unfold stairs. pose proof (Z.div_pos (c0 - x) g0). lia. }
  assert (forall x, 0 <= stairs x c0 g0) as pos by (intros; unfold stairs; lia).
  pose proof (pos x). pose proof (pos (- x)).
  destruct (Z_le_gt_dec 0 x); lia.
Qed.

(* ------------------------------------------------------------------------------------- *)
(* [B7] The triangle: triples whose sum is W (a - m); the middle one follows from (x, y) *)

Section Triangle.

Variables W c : Z.
Hypothesis W_positive : 0 < W.
Hypothesis c_not_negative : 0 <= c.

Definition middle (u : Zn 2) (k : Z) := W * k - fst u - fst (snd u).

Definition in_hexagon (a m : Z) (u : Zn 2) :=
  let fits z := - (m * W + c) <= z <= a * W + c in
  fits (fst u) /\ fits (middle u (a - m)) /\ fits (fst (snd u)).

(* What a record adds: whole numbers, not negative, of sum W. *)
Definition in_triangle (v : Zn 2) := 0 <= fst v /\ 0 <= fst (snd v) /\ fst v + fst (snd v) <= W.

(* Squares and products of a value on the grid are such a triple. *)
Theorem record_in_triangle G q : W = G * G -> 0 <= q <= G ->
  in_triangle ((G - q) * (G - q), (q * q, tt)) /\
  middle ((G - q) * (G - q), (q * q, tt)) 1 = 2 * q * (G - q).
Proof. unfold in_triangle, middle. cbn [fst snd]. intros -> H. split; [nia|ring]. Qed.

(* The region in the words of the positive parts: their sum is at most a W + c. *)
Theorem hexagon_positive_part a m u :
  let positive z := Z.max 0 z in 0 <= a -> 0 <= m ->
  (in_hexagon a m u <->
   positive (fst u) + positive (middle u (a - m)) + positive (fst (snd u)) <= a * W + c).
Proof. intros positive Ha Hm. unfold in_hexagon, positive, middle. nia. Qed.

Lemma in_hexagon_dec a m u : {in_hexagon a m u} + {~ in_hexagon a m u}.
Proof.
  unfold in_hexagon.
  destruct (Z_le_gt_dec (- (m * W + c)) (fst u)); [|right; lia].
  destruct (Z_le_gt_dec (fst u) (a * W + c)); [|right; lia].
  destruct (Z_le_gt_dec (- (m * W + c)) (middle u (a - m))); [|right; lia].
  destruct (Z_le_gt_dec (middle u (a - m)) (a * W + c)); [|right; lia].
  destruct (Z_le_gt_dec (- (m * W + c)) (fst (snd u))); [|right; lia].
  destruct (Z_le_gt_dec (fst (snd u)) (a * W + c)); [|right; lia].
  left. auto.
Qed.

Lemma triangle_added a m u v : 0 <= a -> 0 <= m ->
  in_triangle v -> in_hexagon a m u -> in_hexagon (a + 1) m (plus 2 u v).
Proof. unfold in_triangle, in_hexagon, middle. cbn [plus minus fst snd]. nia. Qed.

Lemma triangle_removed a m u v : 0 <= a -> 0 <= m ->
  in_triangle v -> in_hexagon a m u -> in_hexagon a (m + 1) (minus 2 u v).
Proof. unfold in_triangle, in_hexagon, middle. cbn [plus minus fst snd]. nia. Qed.

Lemma triangle_reached u k :
  {am | 0 <= fst am /\ 0 <= snd am /\ fst am - snd am = k /\ in_hexagon (fst am) (snd am) u}.
Proof.
  pose proof (size_not_negative 2 u). set (s := size 2 u) in *.
  exists (s + Z.max 0 k, s + Z.max 0 (- k)). cbn [fst snd]. repeat split; try lia;
    unfold middle, s in *; cbn in *; nia.
Qed.

Lemma triangle_some_record : exists v, in_triangle v.
Proof. exists (0, (0, tt)). unfold in_triangle. cbn. lia. Qed.

Lemma triangle_grows_slowly a m u : 0 <= a -> 0 <= m ->
  in_hexagon a m u -> size 2 u <= 2 * c + (2 * W) * (a + m).
Proof. unfold in_hexagon. cbn [size]. nia. Qed.

Definition triangle_level := level (Zn 2) in_hexagon in_hexagon_dec triangle_reached.
Definition triangle_weight := weight (Zn 2) in_hexagon in_hexagon_dec triangle_reached.

Theorem triangle_one_step u k v :
  in_triangle v -> Z.abs (triangle_level (plus 2 u v) (k + 1) - triangle_level u k) = 1.
Proof.
  apply (one_step (Zn 2) (plus 2) (minus 2) (plus_minus 2) in_triangle);
    [apply triangle_added|apply triangle_removed].
Qed.

Theorem triangle_normaliser epsilon :
  (0 < epsilon)%R -> {z | is_sum (triangle_weight epsilon) all z /\ (0 < z)%R}.
Proof.
  apply (finite_normaliser 2 _ _ _ (2 * c) (2 * W)); [lia|].
  apply triangle_grows_slowly.
Qed.

Theorem triangle_private epsilon z T n v E p p' :
  (0 < epsilon)%R -> is_sum (triangle_weight epsilon) all z -> in_triangle v ->
  let chance := is_probability (Zn 2) (minus 2) in_hexagon in_hexagon_dec triangle_reached epsilon z in
  chance T n E p -> chance (plus 2 T v) (n + 1) E p' ->
  (p <= exp epsilon * p' /\ p' <= exp epsilon * p)%R.
Proof.
  intros He Hz Hv chance. destruct (triangle_normaliser epsilon He) as [z' [Hz' positive]].
  assert (z = z') as -> by (eapply is_lub_u; eassumption).
  apply (differentially_private (Zn 2) (plus 2) (minus 2) (minus_plus 2) (plus_minus 2)
    (minus_minus 2) in_triangle); auto using triangle_added, triangle_removed.
Qed.

(* The level that the code computes. *)
Theorem triangle_level_formula u k :
  let most := Z.max (fst u) (Z.max (middle u k) (fst (snd u))) in
  let least := Z.min (fst u) (Z.min (middle u k) (fst (snd u))) in
  triangle_level u k =
  Z.max (Z.abs k) (Z.max (2 * stairs most c W - k) (2 * stairs (- least) c W + k)).
Proof.
  intros most least. apply level_unique.
  assert (forall a m, 0 <= a -> 0 <= m -> a - m = k ->
    (in_hexagon a m u <-> stairs most c W <= a /\ stairs (- least) c W <= m)) as regions.
  { intros a m Ha Hm <-. pose proof (stairs_least most c W a W_positive Ha).
    pose proof (stairs_least (- least) c W m W_positive Hm).
    unfold in_hexagon. unfold most, least in *. lia. }
  assert (0 <= stairs most c W /\ 0 <= stairs (- least) c W) by (unfold stairs; lia).
  set (J := stairs most c W) in *. set (J' := stairs (- least) c W) in *.
  split.
  - remember (Z.max (Z.max 0 k) (Z.max J (J' + k))) as a eqn:Ea.
    exists a, (a - k). do 4 (split; [lia|]). apply regions; lia.
  - intros l (a & m & Ha & Hm & Hk & Hl & HR). apply regions in HR; auto. lia.
Qed.

End Triangle.

Print Assumptions one_step.
Print Assumptions region_iff_level.
Print Assumptions mixture.
Print Assumptions same_normaliser.
Print Assumptions differentially_private.
Print Assumptions box_one_step.
Print Assumptions box_level_formula.
Print Assumptions box_normaliser.
Print Assumptions box_private.
Print Assumptions one_column.
Print Assumptions record_in_triangle.
Print Assumptions hexagon_positive_part.
Print Assumptions triangle_one_step.
Print Assumptions triangle_level_formula.
Print Assumptions triangle_normaliser.
Print Assumptions triangle_private.
